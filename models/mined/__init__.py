"""Files of what was mined from a graph about a question set: one writer, one reader, and the kinds of records."""
