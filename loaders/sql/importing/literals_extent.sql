-- Whether a literal has a line end, and how many bytes a row has at most, without quotes.
SELECT coalesce(bool_or(regexp_matches(concat_ws(' ', value, datatype), '[\n\r]')), false) AS spans_lines,
       coalesce(max(strlen(concat_ws(' ', id, value, datatype, language))), 0) + 200 AS longest_row
FROM literal
