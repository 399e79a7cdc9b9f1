// The sum, mean, least or greatest of the values of a set: how many values there are, and members without one; the first
// $limit members with a value are returned.
CALL () {
{{SET}}
}
CALL (x) {
WITH x AS e, [] AS v
{{STEPS}}
{{VALUE}}
WITH v, coalesce(number, first / 10000.0) AS key
WHERE key IS NOT NULL
RETURN count(key) AS n, sum(key) AS sum, min(key) AS least, max(key) AS greatest, coalesce(head(collect(v)), []) AS v
}
WITH x, w + v AS w, n, sum, least, greatest
ORDER BY coalesce(x.name, x.value), x.id
WITH sum(n) AS total, sum(sum) AS sum, min(least) AS least, max(greatest) AS greatest,
     sum(CASE WHEN n = 0 THEN 1 ELSE 0 END) AS missing,
     collect(CASE WHEN n > 0 THEN {x: x, w: w, key: CASE $how WHEN 'min' THEN least WHEN 'max' THEN greatest ELSE sum END}
             END) AS rows
RETURN total,
       CASE WHEN total > 0 THEN CASE $how
         WHEN 'sum' THEN sum WHEN 'mean' THEN sum / total WHEN 'min' THEN least ELSE greatest END END AS number,
       missing,
       [row IN rows[..$limit] | [row.x.id, coalesce(row.x.name, row.x.value), 'Literal' IN labels(row.x), row.key, null,
        [r IN row.w | [startNode(r).id, startNode(r).name,
          CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END,
          endNode(r).id, coalesce(endNode(r).name, endNode(r).value), 'Literal' IN labels(endNode(r))]]]] AS rows
