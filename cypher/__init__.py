"""Every query, one .cypher file each; `lodestar.engine.database.templates` reads them."""
