"""ReG@Path written by a language model."""
