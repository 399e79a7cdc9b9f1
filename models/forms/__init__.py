"""Forms of questions: how many, yes or no, the most, more than, both, or, not; read by rules that stand here."""
