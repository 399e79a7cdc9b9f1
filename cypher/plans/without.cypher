// What is in the left set and not in the right one.
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
WITH x, head(collect(w)) AS w, head(collect(by)) AS by, collect(DISTINCT is_left) AS sides
WHERE sides = [true]
RETURN x, w, by
