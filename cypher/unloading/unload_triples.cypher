// Withdraw what a load states: triples that no other load states are deleted. Their heads have the given label, `Entity`
// or the load's. Relations that are not in $numbers, those of the catalogue, are not Lodestar's.
// mode:    write
// params:  $load :: INTEGER, $numbers :: MAP, $batch_size :: INTEGER
// names:   LABEL
// returns:
// needs:   nothing
MATCH (h:{{LABEL}})-[r]->(:Entity|Literal) USING SCAN h:{{LABEL}}
WHERE h:Entity
  AND $load IN coalesce(r.loads, [1])
  AND $numbers[CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END] IS NOT NULL
CALL (r) {
  WITH r, [load IN coalesce(r.loads, [1]) WHERE load <> $load] AS loads
  FOREACH (none IN CASE WHEN loads = [] THEN [0] ELSE [] END | DELETE r)
  FOREACH (some IN CASE WHEN loads = [] THEN [] ELSE [0] END |
    SET r.loads = CASE loads WHEN [1] THEN null ELSE loads END)
} IN TRANSACTIONS OF $batch_size ROWS
