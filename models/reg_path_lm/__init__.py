"""ReG@Path with a language model that writes relation paths."""
