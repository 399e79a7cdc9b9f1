"""ReG@Triple: an MLP that scores triples."""
