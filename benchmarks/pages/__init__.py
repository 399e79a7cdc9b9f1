"""The pages of results, and what they are made with."""
