// Write the search names of entities that differ from the stored ones.
// mode:    write
// params:  $entities :: LIST<MAP>
// returns: written :: INTEGER
// needs:   constraint entity_id
UNWIND $entities AS row
MATCH (e:Entity {id: row.id})
WHERE e.search_names IS NULL OR e.search_names <> row.search_names
SET e.search_names = row.search_names
RETURN count(e) AS written
