"""ReG@Path: a language model that writes relation paths."""
