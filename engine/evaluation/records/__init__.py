"""What each question of a run came to, kept as it finishes."""
