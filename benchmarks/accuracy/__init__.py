"""How often things are right, on questions to choose by."""
