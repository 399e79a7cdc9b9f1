"""ReG@Path: a decoder that writes relation paths, one relation after the other."""
