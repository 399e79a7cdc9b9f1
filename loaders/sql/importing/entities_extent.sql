-- Whether a text of the entities has a line end, and how many bytes a row has at most, without quotes.
WITH text AS (
  SELECT concat_ws(' ', name, array_to_string(aliases, ' '), array_to_string(search_names, ' '), name_tags) AS text FROM naming
)
SELECT coalesce((SELECT bool_or(regexp_matches(id, '[\n\r]')) FROM entity), false)
         OR coalesce((SELECT bool_or(regexp_matches(text, '[\n\r]')) FROM text), false) AS spans_lines,
       coalesce((SELECT max(strlen(id)) FROM entity), 0)
         + coalesce((SELECT max(strlen(text)) FROM text), 0)
         + coalesce((SELECT max(len(signature_relations)) FROM signature), 0) * 24 + 200 AS longest_row
