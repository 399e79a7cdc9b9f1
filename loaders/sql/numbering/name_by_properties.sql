-- Name what has no name: by a property that is called a name, which stays a property too, else by the last part of its id,
-- with its kind where that is a number or a code ("Order 10248"). Blank nodes, hashes and Freebase's ids name nothing.
CREATE OR REPLACE TEMP TABLE name_property AS
SELECT relation,
       CASE
         WHEN word = 'name' THEN 1
         WHEN word = 'title' THEN 2
         WHEN word = 'label' THEN 3
         WHEN word IN ('fullname', 'displayname', 'preferredname', 'legalname') THEN 4
         WHEN word IN ('firstname', 'givenname') THEN 10
         WHEN word IN ('lastname', 'familyname', 'surname') THEN 11
         WHEN regexp_matches(word, '(user|nick|file|host|middle|maiden|domain|class|type|path)name$|jobtitle$') THEN NULL
         WHEN ends_with(word, 'name') THEN 5
         WHEN ends_with(word, 'title') THEN 6
         WHEN ends_with(word, 'label') THEN 7
       END AS rank
FROM (
  SELECT name AS relation, lower(regexp_replace(regexp_extract(name, '[^/#:.]*$'), '[_ -]', '', 'g')) AS word FROM relation
)
WHERE rank IS NOT NULL;

CREATE OR REPLACE TEMP TABLE nameless AS
SELECT id FROM entity WHERE id NOT IN (SELECT id FROM said_name WHERE id IS NOT NULL);

INSERT INTO statement
WITH property AS (
  SELECT place, head, relation, value, language, rank
  FROM literal_triple
  JOIN name_property USING (relation)
  WHERE head IN (SELECT id FROM nameless) AND trim(value) <> '' AND length(value) <= 200 AND is_preferred(language)
),
best AS (
  SELECT head,
         min(rank) AS rank,
         arg_min(place, (rank, place)) AS place,
         arg_min(relation, (rank, place)) AS relation,
         arg_min(value, (rank, language_rank(language), place)) AS value,
         arg_min(value, place) FILTER (rank = 11) AS last
  FROM property
  GROUP BY head
)
SELECT place, head, relation, CASE WHEN rank = 10 THEN concat_ws(' ', value, last) ELSE value END,
       ['name', NULL, NULL, 'name', NULL]
FROM best;

CREATE OR REPLACE TEMP TABLE type_of AS
SELECT head, min(tail) AS kind FROM entity_triple WHERE ends_with(relation, '#type') GROUP BY head;

INSERT INTO statement
WITH bare AS (
  SELECT id, url_decode(local_part(id)) AS local
  FROM entity
  WHERE id NOT IN (SELECT id FROM said_name WHERE id IS NOT NULL)
    AND NOT starts_with(id, '_:')
    AND NOT regexp_full_match(local_part(id), '[mg]\.[0-9a-z_]+|(.*[^0-9a-z])?([0-9a-fA-F]{4,}-?){4,}')
),
kinds AS (
  SELECT kind, coalesce(arg_min(text, language_rank(language)), split_words(local_part(kind))) AS name
  FROM (SELECT DISTINCT kind FROM type_of WHERE head IN (SELECT id FROM bare))
  LEFT JOIN said_name ON said_name.id = kind
  GROUP BY kind
)
SELECT 0, id, 'id',
       CASE
         WHEN regexp_matches(local, '\p{L}{3}|^\p{L}+$') THEN split_words(local)
         ELSE concat_ws(' ', kinds.name, local)
       END,
       ['name', NULL, NULL, 'name', NULL]
FROM bare
LEFT JOIN type_of ON type_of.head = bare.id
LEFT JOIN kinds ON kinds.kind = type_of.kind
WHERE local <> '' AND (regexp_matches(local, '\p{L}{3}|^\p{L}+$') OR kinds.name IS NOT NULL);
