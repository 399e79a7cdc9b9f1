"""ReG@Path: a small decoder of relation paths."""
