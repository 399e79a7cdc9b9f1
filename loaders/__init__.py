"""Knowledge graphs and question sets out of files, into a graph and out of it again."""
