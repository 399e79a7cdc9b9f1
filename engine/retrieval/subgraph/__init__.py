"""Question subgraphs: the surroundings of topic entities, bounded, as columns, for a whole batch of questions."""
