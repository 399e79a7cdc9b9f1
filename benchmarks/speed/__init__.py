"""How long things take, and how much memory: as ratios against a reference in the same run."""
