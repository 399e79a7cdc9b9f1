// The entities that a question can name, each with the catalogue numbers of the relations that leave (n) and enter (-n) it.
// mode:    read
// params:
// returns: id :: STRING, name :: STRING, degree :: INTEGER, signature :: LIST<INTEGER>
// needs:   nothing
MATCH (e:Entity)
WHERE e.name IS NOT NULL AND size(e.signature_relations) > 0
RETURN e.id AS id, e.name AS name, e.degree AS degree, e.signature_relations AS signature
