"""What networks learn from: shares, pools, losses and objectives."""
