"""ReG@Entity: a graph neural network that scores the entities of a question's subgraph."""
