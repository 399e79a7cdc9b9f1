// Entities and literals by id.
CALL () {
MATCH (x:Entity)
WHERE x.id IN $ids
RETURN x
UNION
MATCH (x:Literal)
WHERE x.id IN $ids
RETURN x
}
RETURN x, [] AS w, null AS by
