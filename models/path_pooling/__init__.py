"""Path Pooling (Wang et al. 2025, arXiv:2503.05203): scores of triples smoothed along paths from and to the topics."""
