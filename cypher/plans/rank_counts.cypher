// Each member counts as one.
RETURN [1.0] AS keys
