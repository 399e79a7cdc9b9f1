// Delete those of the given entities or literals that no triple has any more; nodes with foreign relationships stay.
// mode:    write
// params:  $ids :: LIST<STRING>
// names:   TAIL
// returns: id :: STRING
// needs:   constraint entity_id, constraint literal_id
UNWIND $ids AS id
MATCH (n:{{TAIL}} {id: id})
WHERE NOT EXISTS {
  MATCH (n)-[r]-()
  WHERE type(r) <> 'LODESTAR_IS'
}
DETACH DELETE n
RETURN id
