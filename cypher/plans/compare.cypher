// Whether two numbers compare so; null where one is missing.
CALL () {
{{LEFT}}
}
WITH number AS left, rows AS left_rows
CALL () {
{{RIGHT}}
}
WITH left, left_rows, number AS right, rows AS right_rows
RETURN CASE CASE $op
         WHEN '<' THEN left < right WHEN '<=' THEN left <= right WHEN '>' THEN left > right
         WHEN '>=' THEN left >= right WHEN '=' THEN left = right ELSE left <> right END
         WHEN true THEN 1 WHEN false THEN 0 END AS total,
       null AS number, 0 AS missing, left_rows + right_rows AS rows
