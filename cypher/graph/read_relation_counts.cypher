// Count each relation's triples in the graph itself.
// mode:    read
// params:
// returns: relation :: STRING, num_triples :: INTEGER
// needs:   nothing
MATCH (:Entity)-[r]->(:Entity|Literal)
RETURN CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS relation,
       count(*) AS num_triples
