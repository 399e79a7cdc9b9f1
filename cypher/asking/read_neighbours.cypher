// The triples of some entities, for one step of a whole batch, as columns: one row per triple would take ten times as
// long. For entities in $whole it reads all triples; for those in $parts, {id, leaving, entering}, the first few of the
// named relations, in store order, with how many of each. It visits all relationships of either; read_hub_neighbours is
// for hubs. Every neighbour is described once. A triple is one number, its code:
//    ((place of the entity in $whole followed by $parts · 2 + entering) · $num_relations + number) · $positions + position
// where $numbers has the relations' numbers from 0, and the position within the entity's relation is 0 for those in
// $whole. A signature is a neighbour's relations followed by their counts; when $last, only of unnamed ones.
// mode:    read
// params:  $whole :: LIST<STRING>, $parts :: LIST<MAP>, $numbers :: MAP, $num_relations :: INTEGER,
//          $positions :: INTEGER, $last :: BOOLEAN, $value_chars :: INTEGER
// returns: ids :: LIST<STRING>, names :: LIST<STRING>, literals :: LIST<STRING>, codes :: LIST<LIST<INTEGER>>,
//          signatures :: LIST<LIST<INTEGER>>
// needs:   constraint entity_id
CALL () {
  UNWIND range(0, size($whole) - 1) AS place
  MATCH (e:Entity {id: $whole[place]})
  CALL (e) {
    MATCH (e)-[r]->(t:Entity|Literal)
    RETURN $numbers[CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END] AS number,
           0 AS entering,
           t
  UNION ALL
    MATCH (e)<-[r]-(t:Entity)
    RETURN $numbers[CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END] AS number,
           1 AS entering,
           t
  }
  WITH place, number, entering, t
  WHERE number IS NOT NULL
  RETURN ((2 * place + entering) * $num_relations + number) * $positions AS code, t
UNION ALL
  UNWIND range(0, size($parts) - 1) AS at
  WITH size($whole) + at AS place, $parts[at] AS part
  MATCH (e:Entity {id: part.id})
  CALL (e, part) {
    MATCH (e)-[r]->(t:Entity|Literal)
    WITH part, CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS relation, t
    WHERE part.leaving[relation] IS NOT NULL
    WITH relation, part.leaving[relation] AS limit, collect(t) AS tails
    UNWIND range(0, size(tails[..limit]) - 1) AS position
    RETURN relation, 0 AS entering, position, tails[position] AS t
  UNION ALL
    MATCH (e)<-[r]-(t:Entity)
    WITH part, CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END AS relation, t
    WHERE part.entering[relation] IS NOT NULL
    WITH relation, part.entering[relation] AS limit, collect(t) AS heads
    UNWIND range(0, size(heads[..limit]) - 1) AS position
    RETURN relation, 1 AS entering, position, heads[position] AS t
  }
  RETURN ((2 * place + entering) * $num_relations + $numbers[relation]) * $positions + position AS code, t
}
WITH t, collect(code) AS codes
WITH collect(t) AS neighbours, collect(codes) AS codes
RETURN [t IN neighbours | t.id] AS ids,
       [t IN neighbours | CASE
          WHEN NOT t:Literal THEN t.name
          WHEN size(t.value) <= $value_chars THEN t.value
          ELSE left(t.value, $value_chars) + '…'
        END] AS names,
       [t IN neighbours WHERE t:Literal | t.id] AS literals,
       codes,
       [t IN neighbours |
        CASE WHEN $last AND t.name IS NOT NULL THEN null ELSE t.signature_relations + t.signature_counts END] AS signatures
