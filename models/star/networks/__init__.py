"""The networks, and the encoder inside them."""
