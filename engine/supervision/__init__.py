"""What a model is taught from: training data made of a graph and of questions with their answers."""
