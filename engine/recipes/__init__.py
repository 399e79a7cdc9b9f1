"""Recipes: the parts that a pipeline is joined from, in one line, a TOML file or Python."""
