"""Entity linking: from the words of a question to the entities it starts from."""
