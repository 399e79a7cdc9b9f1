// Write entities with all that is known of their names; what a row has not, the entity loses. They get the labels too.
// mode:    write
// params:  $entities :: LIST<MAP>, $labels :: LIST<STRING>
// returns:
// needs:   constraint entity_id
UNWIND $entities AS row
MERGE (e:Entity {id: row.id})
SET e:$($labels),
    e.degree = coalesce(e.degree, 0),
    e.name = row.name,
    e.aliases = row.aliases,
    e.search_names = row.search_names,
    e.name_tags = row.name_tags
