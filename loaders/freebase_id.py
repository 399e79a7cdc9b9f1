"""How Freebase writes the id of an entity."""

FREEBASE_ID = r"[mg]\.[0-9a-z_]+"
