// What a path leads to from a set, each with the triples of one way there.
CALL () {
{{SET}}
}
WITH x AS e, w AS v
{{STEPS}}
RETURN e AS x, v AS w, null AS by
