// How many triples of each relation leave (sign 1) and enter (sign -1) the entity e.
CALL (e) {
  MATCH (e)-[r]->(:Entity|Literal)
  RETURN CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS name,
         1 AS sign,
         count(*) AS size
UNION ALL
  MATCH (e)<-[r]-(:Entity)
  RETURN CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS name,
         -1 AS sign,
         count(*) AS size
}
