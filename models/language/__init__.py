"""Language models that learn here: a causal LM of Hugging Face with a LoRA on top."""
