// The relation catalogue, by number.
// mode:    read
// params:
// returns: number :: INTEGER, name :: STRING, label :: STRING, count :: INTEGER,
//          domain :: STRING, range :: STRING, inverse :: STRING, stored_as :: STRING,
//          said_label :: STRING, description :: STRING, phrases :: LIST<STRING>, phrase_tags :: LIST<STRING>,
//          head :: LIST<ANY>, tail :: LIST<ANY>
// needs:   nothing
MATCH (r:Relation)
WHERE r.number IS NOT NULL
RETURN r.number AS number,
       r.name AS name,
       r.label AS label,
       r.count AS count,
       r.domain AS domain,
       r.range AS range,
       r.inverse AS inverse,
       r.stored_as AS stored_as,
       r.said_label AS said_label,
       r.description AS description,
       r.phrases AS phrases,
       r.phrase_tags AS phrase_tags,
       [r.head_kind, r.head_share, r.head_words] AS head,
       [r.tail_kind, r.tail_share, r.tail_words] AS tail
ORDER BY number
