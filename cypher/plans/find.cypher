// The members of a set in the order of their keys or names: all counted, the first $limit returned with their triples.
CALL () {
{{SET}}
}
WITH x, w, by
ORDER BY coalesce(by.place, 0), coalesce(x.name, x.value), x.id
WITH collect({x: x, w: w, by: by}) AS rows
RETURN size(rows) AS total, toFloat(size(rows)) AS number, 0 AS missing,
       [row IN rows[..$limit] | [row.x.id, coalesce(row.x.name, row.x.value), 'Literal' IN labels(row.x), row.by.key,
        [row.by.next.x.id, coalesce(row.by.next.x.name, row.by.next.x.value), row.by.next.key],
        [r IN row.w | [startNode(r).id, startNode(r).name,
          CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END,
          endNode(r).id, coalesce(endNode(r).name, endNode(r).value), 'Literal' IN labels(endNode(r))]]]] AS rows
