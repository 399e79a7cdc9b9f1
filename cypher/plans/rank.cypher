// The groups of a set by the ends of a path, with the number of their members, or the sum or mean of their values,
// greatest first; members without a group or a value are counted as missing.
CALL () {
{{SET}}
}
CALL (x) {
WITH x AS e, [] AS v
{{BY}}
RETURN collect({g: e, v: v}) AS groups
}
CALL (x) {
{{VALUES}}
}
WITH x, groups, keys
WITH collect(CASE WHEN size(groups) > 0 AND size(keys) > 0 THEN {groups: groups, keys: keys} END) AS members,
     sum(CASE WHEN size(groups) = 0 OR size(keys) = 0 THEN 1 ELSE 0 END) AS missing
CALL (members) {
UNWIND members AS member
UNWIND member.groups AS of
UNWIND member.keys AS key
WITH of.g AS g, head(collect(of.v)) AS v, CASE $how WHEN 'mean' THEN avg(key) ELSE sum(key) END AS key
ORDER BY -key, coalesce(g.name, g.value), g.id
RETURN collect({x: g, w: v, key: key}) AS rows
}
RETURN size(rows) AS total, null AS number, missing,
       [row IN rows[..$limit] | [row.x.id, coalesce(row.x.name, row.x.value), 'Literal' IN labels(row.x), row.key, null,
        [r IN row.w | [startNode(r).id, startNode(r).name,
          CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END,
          endNode(r).id, coalesce(endNode(r).name, endNode(r).value), 'Literal' IN labels(endNode(r))]]]] AS rows
