// What is in two sets.
CALL () {
CALL () {
{{LEFT}}
}
RETURN x, w, by, true AS is_left
UNION ALL
CALL () {
{{RIGHT}}
}
RETURN x, w, by, false AS is_left
}
WITH x, collect(w) AS ways, head(collect(by)) AS by, count(DISTINCT is_left) AS sides
WHERE sides = 2
RETURN x, reduce(all = [], way IN ways | all + way) AS w, by
