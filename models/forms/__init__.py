"""Read the forms of questions with rules: how many, yes or no, the most, more than, both, or, not."""
