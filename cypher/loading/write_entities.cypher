// Write entities with all their names, and the typed value of the first; properties that a row lacks are removed, except
// relation signature and degree. They get the labels, too.
// mode:    write
// params:  $entities :: LIST<MAP>, $labels :: LIST<STRING>
// returns:
// needs:   constraint entity_id
UNWIND $entities AS row
MERGE (e:Entity {id: row.id})
SET e:$($labels),
    e.signature_relations = coalesce(row.signature_relations, e.signature_relations),
    e.signature_counts = coalesce(row.signature_counts, e.signature_counts),
    e.degree = coalesce(row.degree, e.degree, 0),
    e.name = row.name,
    e.aliases = row.aliases,
    e.search_names = row.search_names,
    e.name_tags = row.name_tags,
    e.number = row.number,
    e.dimension = row.dimension,
    e.first_day = row.first_day,
    e.last_day = row.last_day
