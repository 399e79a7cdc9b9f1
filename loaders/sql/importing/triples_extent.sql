-- Whether a relation has a line end in its name, and how many bytes a row has at most, without quotes.
SELECT coalesce(bool_or(regexp_matches(name, '[\n\r]')), false) AS spans_lines, max(strlen(name)) + 100 AS longest_row
FROM relation
