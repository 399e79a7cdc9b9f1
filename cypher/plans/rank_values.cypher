// The values of a member.
WITH x AS e, [] AS v
{{STEPS}}
{{VALUE}}
WITH coalesce(number, first / 372.0) AS key
WHERE key IS NOT NULL
RETURN collect(key) AS keys
