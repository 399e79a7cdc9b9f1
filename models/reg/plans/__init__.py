"""ReG@Path with a language model: a causal LM with a LoRA writes relation paths as text."""
