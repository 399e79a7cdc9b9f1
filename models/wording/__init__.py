"""Questions in plain English out of relation words: what a path asks, in many forms."""
