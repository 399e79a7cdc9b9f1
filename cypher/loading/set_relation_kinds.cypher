// What stands at the two ends of relations, and when that was found: readers that have the catalogue read it again.
// mode:    write
// params:  $kinds :: LIST<MAP>
// returns:
// needs:   constraint relation_name
CALL () {
  MATCH (l:Load)
  WHERE l.sha256 IS NOT NULL
  SET l.described = datetime()
}
UNWIND $kinds AS row
MATCH (r:Relation {name: row.name})
SET r.head_kind = row.head_kind,
    r.head_share = row.head_share,
    r.head_words = row.head_words,
    r.tail_kind = row.tail_kind,
    r.tail_share = row.tail_share,
    r.tail_words = row.tail_words
