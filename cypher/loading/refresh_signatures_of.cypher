// Bring the relation signatures of these entities in line with the graph. Otherwise as refresh_signatures.
// mode:    write
// params:  $ids :: LIST<STRING>, $numbers :: MAP
// returns:
// needs:   constraint entity_id
UNWIND $ids AS id
MATCH (e:Entity {id: id})
CALL (e) {
  {{> relation_sizes}}
  WITH sign * $numbers[name] AS number, size ORDER BY number
  WHERE number IS NOT NULL
  WITH collect(number) AS numbers, collect(size) AS sizes
  SET e.signature_relations = numbers,
      e.signature_counts = sizes,
      e.degree = reduce(degree = 0, size IN sizes | degree + size)
}
