"""ReG@Path."""
