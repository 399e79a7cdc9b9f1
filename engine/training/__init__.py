"""Training of scorers from question sets: what is mined, what is left out, what is written."""
