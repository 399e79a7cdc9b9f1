// Those of a set that have a value which compares so, each with the triples that lead to one.
CALL () {
{{SET}}
}
CALL (x) {
WITH x AS e, [] AS v
{{STEPS}}
{{VALUE}}
WITH v, text, number, first, last
WHERE {{TEST}}
RETURN v LIMIT 1
}
RETURN x, w + v AS w, by
