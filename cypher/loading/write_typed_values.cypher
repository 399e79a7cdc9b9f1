// Write the typed values of literals or entities.
// mode:    write
// params:  $rows :: LIST<MAP>
// names:   LABEL
// returns:
// needs:   constraint entity_id, constraint literal_id
UNWIND $rows AS row
MATCH (n:{{LABEL}} {id: row.id})
SET n.number = row.number,
    n.dimension = row.dimension,
    n.first_day = row.first_day,
    n.last_day = row.last_day
