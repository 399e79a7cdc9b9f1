"""The reader of GRIL: what it is given, how it points, and how it learns together with the retriever."""
