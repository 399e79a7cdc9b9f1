"""Answer questions from evidence: extractively, with a reader, or with a language model."""
