"""Questions about sets, numbers and times: an algebra of plans, and the query that executes one."""
