-- Take over what a parser makes of its lines, without the triples of relations that are not wanted. A reject keeps its line
-- as the parser gives it, in the place of the tail.
INSERT INTO statement
SELECT placed(getvariable('part'), line),
       CASE WHEN category IN ('triple', 'name', 'comment') THEN head END,
       CASE WHEN category IN ('triple', 'name') THEN relation END,
       CASE WHEN category IN ('triple', 'name', 'comment', 'reject') THEN tail END,
       CASE
         WHEN category = 'triple' AND NOT is_literal THEN NULL
         WHEN category IN ('triple', 'name', 'reject') THEN [category, datatype, language, tag, reason]
         ELSE [category]
       END
FROM (
  SELECT * REPLACE (
    CASE WHEN category = 'triple' AND NOT is_wanted(relation) THEN 'not wanted' ELSE category END AS category)
  FROM ({{parser}})
)
