"""Run causal language models of Hugging Face locally, and train LoRAs on them."""
