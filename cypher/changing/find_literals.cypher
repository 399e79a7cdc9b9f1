// The ids of the existing literals among these.
// mode:    read
// params:  $ids :: LIST<STRING>
// returns: id :: STRING
// needs:   constraint literal_id
UNWIND $ids AS id
MATCH (l:Literal {id: id})
RETURN l.id AS id
