// The $k of a set after the first $skip, in the order of a key, $sign · key ascending, with all equals of the last. Each
// has its key, and the first that is no longer in.
CALL () {
{{SET}}
}
CALL (x) {
WITH x AS e, [] AS v
{{STEPS}}
{{KEY}}
}
WITH x, w + v AS w, key, $sign * key AS place
ORDER BY place
WITH collect({x: x, w: w, key: key, place: place}) AS rows
WITH rows, rows[$skip].place AS begin,
     rows[CASE WHEN size(rows) < $skip + $k THEN size(rows) ELSE $skip + $k END - 1].place AS end
WITH [row IN rows WHERE row.place >= begin AND row.place <= end] AS kept,
     head([row IN rows WHERE row.place > end | {x: row.x, key: row.key}]) AS next
UNWIND kept AS row
RETURN row.x AS x, row.w AS w, {key: row.key, place: row.place, next: next} AS by
