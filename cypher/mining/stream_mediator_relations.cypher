// The relations of unnamed entities: catalogue numbers of those that leave (n) and enter (-n) one.
// mode:    read
// params:
// returns: number :: INTEGER
// needs:   nothing
MATCH (e:Entity)
WHERE e.name IS NULL
UNWIND e.signature_relations AS number
RETURN DISTINCT number
