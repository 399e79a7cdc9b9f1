"""Write graphs to files, one format per class."""
