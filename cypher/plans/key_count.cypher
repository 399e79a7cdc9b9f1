// The number of ends, with the triples that lead to one.
RETURN toFloat(count(e)) AS key, coalesce(head(collect(v)), []) AS v
