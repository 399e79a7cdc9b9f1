// Of entities of one name those that have something beside it: a neighbour among $asked.others, at most two steps away
// along the arrows, or a value or neighbour that begins with the year. At most $limit neighbours of each are read.
// mode:    read
// params:  $asked :: LIST<MAP>, $limit :: INTEGER
// returns: place :: INTEGER, id :: STRING
// needs:   constraint entity_id
UNWIND range(0, size($asked) - 1) AS place
WITH place, $asked[place] AS asked
UNWIND asked.ids AS id
MATCH (e:Entity {id: id})
CALL (e, asked) {
  WITH e, asked WHERE asked.year = ''
  UNWIND asked.others AS other
  MATCH (o:Entity {id: other})
  CALL (e, o) {
    MATCH (e)--(o)
    RETURN 1 AS hit LIMIT 1
  UNION
    MATCH (e)-->(m:Entity)
    WITH m, o LIMIT $limit
    MATCH (m)-->(o)
    RETURN 1 AS hit LIMIT 1
  }
  RETURN hit
UNION
  WITH e, asked WHERE asked.year <> ''
  MATCH (e)-->(t)
  WITH t, asked LIMIT $limit
  WHERE coalesce(t.value, t.name, t.id) STARTS WITH asked.year
  RETURN 1 AS hit
}
RETURN DISTINCT place, id
