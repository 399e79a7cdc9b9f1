"""How texts become vectors: BERT in numpy where the model is one, sentence-transformers for every other."""
