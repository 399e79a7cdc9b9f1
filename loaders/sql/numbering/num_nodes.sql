SELECT (SELECT count(*) FROM entity) + (SELECT count(*) FROM literal)
