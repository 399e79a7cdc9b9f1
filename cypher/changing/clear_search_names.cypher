// Remove what is left of the names of entities that have none any more.
// mode:    write
// params:  $batch_size :: INTEGER
// returns:
// needs:   nothing
MATCH (e:Entity)
WHERE e.name IS NULL AND (e.search_names IS NOT NULL OR e.aliases IS NOT NULL OR e.name_tags IS NOT NULL)
CALL (e) {
  REMOVE e.search_names, e.aliases, e.name_tags
} IN TRANSACTIONS OF $batch_size ROWS
