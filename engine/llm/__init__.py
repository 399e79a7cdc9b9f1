"""Language models: endpoints, local models, prompts and their cache."""
