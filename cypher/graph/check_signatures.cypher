// Count the loaded entities whose relation signature disagrees with their triples of relations in the catalogue; 0 after
// every load.
// mode:    read
// params:
// returns: num_wrong :: INTEGER
// needs:   constraint relation_name
MATCH (e:Entity)
WHERE e.degree IS NOT NULL
CALL (e) {
  {{> relation_sizes}}
  MATCH (relation:Relation {name: name})
  WITH sign * relation.number AS number, size ORDER BY number
  RETURN collect(number) AS numbers, collect(size) AS sizes
}
WITH e, numbers, sizes
WHERE coalesce(e.signature_relations <> numbers, true)
   OR coalesce(e.signature_counts <> sizes, true)
   OR coalesce(e.degree <> reduce(degree = 0, size IN sizes | degree + size), true)
RETURN count(*) AS num_wrong
