// Bring the relation signature of every entity in line with the graph: the catalogue numbers of the relations that leave
// (n) and enter (-n) it, ascending, how many triples each has, and the sum as degree; of those with the label given, and
// which a load wrote. Writes only where something changed. What is not in the catalogue counts for nothing.
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
