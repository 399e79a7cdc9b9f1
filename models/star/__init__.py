"""STAR: a cross-attentive path scorer, the dual encoder before it, and their training on mined paths."""
