-- The rows of a piece that was parsed apart, their lines numbered as in the whole part.
SELECT * REPLACE (line + getvariable('lines_before') AS line) FROM read_parquet(getvariable('rows'))
