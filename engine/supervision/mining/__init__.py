"""Hard path mining (STAR, section 4.1): training paths for questions, from the graph in the database."""
