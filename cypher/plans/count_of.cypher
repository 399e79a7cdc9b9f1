// Those of a set from which a path leads to so many ends.
CALL () {
{{SET}}
}
CALL (x) {
WITH x AS e, [] AS v
{{STEPS}}
RETURN count(e) AS n, head(collect(v)) AS v
}
WITH x, w, by, v, n
WHERE CASE $op
  WHEN '<' THEN n < $number WHEN '<=' THEN n <= $number WHEN '>' THEN n > $number WHEN '>=' THEN n >= $number
  WHEN '=' THEN n = $number ELSE n <> $number END
RETURN x, w + coalesce(v, []) AS w, by
