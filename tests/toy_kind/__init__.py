"""A kind of model that is not Lodestar's own, in four files: what someone else writes to add one."""
