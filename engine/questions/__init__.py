"""Questions with what is known to be right about them."""
