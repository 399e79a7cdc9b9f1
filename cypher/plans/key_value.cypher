// The greatest or smallest value of an end, with the triples that lead to it.
{{VALUE}}
WITH v, coalesce(number, first / 10000.0) AS key
WHERE key IS NOT NULL
RETURN key, v
ORDER BY $sign * key LIMIT 1
