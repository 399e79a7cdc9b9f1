"""The reader: candidates scored by features that one can read, and the set of answers chosen by expected F1."""
