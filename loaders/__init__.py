"""Load knowledge graphs and question sets from files, and export graphs to files."""
