"""How Freebase writes the id of an entity, and the IRIs that its dump makes of ids and relations."""

FREEBASE = "http://rdf.freebase.com/ns/"
FREEBASE_ID = r"[mg]\.[0-9a-z_]+"
