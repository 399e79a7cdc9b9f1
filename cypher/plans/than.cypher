// Those of a set whose greatest value compares so with that of another set, or with the mean there; what it was compared
// with is a part of each witness.
CALL () {
CALL () {
{{TO}}
}
CALL (x) {
WITH x AS e, [] AS v
{{STEPS}}
{{VALUE}}
WITH v, coalesce(number, first / 10000.0) AS key
WHERE key IS NOT NULL
RETURN v, key
}
WITH w + v AS w, key ORDER BY key DESC
RETURN CASE $how WHEN 'mean' THEN avg(key) ELSE max(key) END AS other, coalesce(head(collect(w)), []) AS compared
}
CALL () {
{{SET}}
}
CALL (x) {
WITH x AS e, [] AS v
{{STEPS}}
{{VALUE}}
WITH v, coalesce(number, first / 10000.0) AS key
WHERE key IS NOT NULL
RETURN v, key ORDER BY key DESC LIMIT 1
}
WITH x, w + v + compared AS w, by, key, other
WHERE CASE $op
    WHEN '<' THEN key < other WHEN '<=' THEN key <= other WHEN '>' THEN key > other WHEN '>=' THEN key >= other
    WHEN '=' THEN key = other ELSE key <> other END
RETURN x, w, by
