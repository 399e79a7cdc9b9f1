// Take back what a load stated: triples that no other load states are deleted.
// mode:    write
// params:  $load :: INTEGER, $batch_size :: INTEGER
// returns:
// needs:   nothing
MATCH (:Entity)-[r]->(:Entity|Literal)
WHERE $load IN coalesce(r.loads, [1])
CALL (r) {
  WITH r, [load IN coalesce(r.loads, [1]) WHERE load <> $load] AS loads
  FOREACH (none IN CASE WHEN loads = [] THEN [0] ELSE [] END | DELETE r)
  FOREACH (some IN CASE WHEN loads = [] THEN [] ELSE [0] END |
    SET r.loads = CASE loads WHEN [1] THEN null ELSE loads END)
} IN TRANSACTIONS OF $batch_size ROWS
