"""Recipes: which stages answer a question, and how each is set; one TOML file each, or a user's own."""
