"""Vector indexes of entities and relations."""
