"""ReG@Entity: a graph neural network that scores entities."""
