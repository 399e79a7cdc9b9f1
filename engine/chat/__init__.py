"""Language models as a gateway: prompts that stages yield, and what sends, counts, bounds and caches them."""
