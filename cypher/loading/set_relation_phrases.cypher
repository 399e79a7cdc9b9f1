// What relations are called and asked by, in place of what was said of them before. Readers then read the catalogue again.
// mode:    write
// params:  $words :: LIST<MAP>
// returns: num_relations :: INTEGER
// needs:   constraint relation_name
CALL () {
  MATCH (l:Load)
  WHERE l.sha256 IS NOT NULL
  SET l.described = datetime()
}
UNWIND $words AS row
MATCH (r:Relation {name: row.name})
SET r.said_label = row.said_label,
    r.description = row.description,
    r.phrases = CASE WHEN size(row.phrases) > 0 THEN row.phrases END,
    r.phrase_tags = CASE WHEN size(row.phrase_tags) > 0 THEN row.phrase_tags END
RETURN count(r) AS num_relations
