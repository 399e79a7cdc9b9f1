// Every entity with the tails of its triples, as the database's internal node numbers: small, nearly without gaps, and
// valid for one query only. They are the last part of an element id.
// mode:    read
// params:
// returns: entity :: INTEGER, neighbours :: LIST<INTEGER>
// needs:   nothing
MATCH (e:Entity)
RETURN toIntegerOrNull(split(elementId(e), ':')[-1]) AS entity,
       COLLECT {
         MATCH (e)-->(t:Entity)
         RETURN toIntegerOrNull(split(elementId(t), ':')[-1])
       } AS neighbours
