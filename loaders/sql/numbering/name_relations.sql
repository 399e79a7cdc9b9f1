-- What is said of relations: the names and aliases of an id that is a relation's, the preferred language first, and the
-- first of its comments.
CREATE OR REPLACE TABLE relation_words AS
SELECT relation.name,
       coalesce(named.texts, []) AS texts,
       commented.comment
FROM relation
LEFT JOIN (
  SELECT id,
         list(text ORDER BY is_alias,
              language_rank(language),
              place,
              ordinal) AS texts
  FROM said_name
  WHERE id IN (SELECT name FROM relation)
  GROUP BY id
) AS named ON named.id = relation.name
LEFT JOIN (
  SELECT head, min_by(tail, place) AS comment
  FROM statement
  WHERE head IN (SELECT name FROM relation)
    AND (detail[1] = 'comment'
         OR detail[1] = 'triple' AND (lower(relation) LIKE '%comment' OR lower(relation) LIKE '%description'))
  GROUP BY head
) AS commented ON commented.head = relation.name
WHERE named.texts IS NOT NULL OR commented.comment IS NOT NULL;
