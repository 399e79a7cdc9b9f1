// Bring the relation signatures of the loaded entities with the given label in line with the graph: the catalogue numbers
// of the relations that leave (n) and enter (-n) the entity, ascending, the number of triples of each, and their sum as
// degree. Writes only changed entities. Relations outside the catalogue do not count.
// mode:    write
// params:  $numbers :: MAP, $batch_size :: INTEGER
// names:   LABEL
// returns:
// needs:   nothing
MATCH (e:{{LABEL}})
WHERE e:Entity AND e.degree IS NOT NULL
CALL (e) {
  {{> relation_sizes}}
  WITH sign * $numbers[name] AS number, size ORDER BY number
  WHERE number IS NOT NULL
  WITH collect(number) AS numbers, collect(size) AS sizes
  WITH numbers, sizes
  WHERE e.signature_relations IS NULL OR e.signature_relations <> numbers OR e.signature_counts <> sizes
  SET e.signature_relations = numbers,
      e.signature_counts = sizes,
      e.degree = reduce(degree = 0, size IN sizes | degree + size)
} IN TRANSACTIONS OF $batch_size ROWS
