// The values of a member.
WITH x AS e, [] AS v
{{STEPS}}
{{VALUE}}
WITH coalesce(number, first / 10000.0) AS key
WHERE key IS NOT NULL
RETURN collect(key) AS keys
