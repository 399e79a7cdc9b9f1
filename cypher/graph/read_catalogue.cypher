// The relation catalogue, by number.
// mode:    read
// params:
// returns: number :: INTEGER, name :: STRING, label :: STRING, count :: INTEGER,
//          domain :: STRING, range :: STRING, inverse :: STRING, stored_as :: STRING
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
       r.stored_as AS stored_as
ORDER BY number
