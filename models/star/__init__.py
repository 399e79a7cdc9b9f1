"""STAR: a cross-attentive path scorer, its dual encoder, and their training on mined paths."""
