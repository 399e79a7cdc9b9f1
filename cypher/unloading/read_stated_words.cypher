// What the sources of all loads but one say of relations beside their triples, in the order of the loads.
// mode:    read
// params:  $sha256 :: STRING
// returns: words :: STRING
// needs:   nothing
MATCH (l:Load)
WHERE l.sha256 <> $sha256 AND l.stated_words IS NOT NULL
WITH l ORDER BY coalesce(l.number, 1), l.started
RETURN l.stated_words AS words
