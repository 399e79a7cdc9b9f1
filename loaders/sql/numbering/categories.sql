-- How many statements of the source were of which kind.
SELECT coalesce(detail[1], 'triple') AS category, count(*) FROM statement GROUP BY ALL
