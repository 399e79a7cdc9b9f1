// What is in one of two sets.
CALL () {
CALL () {
{{LEFT}}
}
RETURN x, w, by
UNION ALL
CALL () {
{{RIGHT}}
}
RETURN x, w, by
}
RETURN x, head(collect(w)) AS w, head(collect(by)) AS by
