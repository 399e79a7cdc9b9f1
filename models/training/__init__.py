"""Train models of any kind: phases, the loop, exact resume, checkpoints and model cards."""
