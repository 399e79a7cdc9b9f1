// Write entities with their names. A name given here becomes the entity's name; the one it had becomes an alias.
// mode:    write
// params:  $entities :: LIST<MAP>
// returns:
// needs:   constraint entity_id
UNWIND $entities AS row
MERGE (e:Entity {id: row.id})
WITH e, row WHERE row.name IS NOT NULL
WITH e, row,
     [alias IN row.aliases + coalesce(e.aliases, []) + [coalesce(e.name, row.name)] WHERE alias <> row.name] AS aliases,
     row.search_names + coalesce(e.search_names, []) AS search_names
SET e.name = row.name,
    e.aliases = reduce(kept = [], x IN aliases | CASE WHEN x IN kept THEN kept ELSE kept + [x] END),
    e.search_names = reduce(kept = [], x IN search_names | CASE WHEN x IN kept THEN kept ELSE kept + [x] END)
