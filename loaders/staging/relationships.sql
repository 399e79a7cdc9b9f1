-- The triples as neo4j-admin imports them, those of a relation together: so it is several times as fast as by head. Only
-- numbers are sorted; the types, which are long, are looked up behind that.
SELECT head::BIGINT AS ":START_ID(node)",
       tail::BIGINT AS ":END_ID(node)",
       (SELECT list(type ORDER BY staged) FROM relation_row)[relation] AS ":TYPE"
FROM (
  SELECT head, relation, tail
  FROM triple
  WHERE relation NOT IN (SELECT staged FROM relation_row WHERE is_related)
  ORDER BY relation, head, tail
)
