"""Write into a graph what all writers share: names, relations, manifests; and change single triples."""
