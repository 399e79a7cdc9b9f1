-- The names of the entities, a row an entity that has any: name first, then the aliases, as they were stated.
-- A text is stated once a language. Which of the texts of several languages comes first is the order of `languages`.
-- Most entities have one name, or their id for one; only the others are sorted.
CREATE OR REPLACE TEMP TABLE named_once AS
SELECT entity.node, entity.id
FROM (SELECT id FROM said_name GROUP BY id HAVING count(*) = 1) AS said
JOIN entity ON entity.id = said.id;

CREATE OR REPLACE TABLE name_statement AS
SELECT node, 1 AS position, text, language, tag, false AS from_id, relation
FROM said_name
JOIN named_once ON named_once.id = said_name.id
UNION ALL
SELECT entity.node,
       row_number() OVER (
         PARTITION BY entity.node
         ORDER BY is_alias,
                  language_rank(language),
                  list_position(getvariable('name_relations'), relation),
                  place,
                  ordinal
       ),
       text,
       language,
       tag,
       false,
       relation
FROM (
  FROM said_name
  WHERE id NOT IN (SELECT id FROM named_once)
  QUALIFY row_number() OVER (PARTITION BY id, text, language ORDER BY is_alias, place, ordinal) = 1
) AS said
JOIN entity ON entity.id = said.id;

INSERT INTO name_statement
SELECT node, 1, id, NULL, NULL, true, NULL
FROM entity
WHERE getvariable('unnamed_ids') IS NOT NULL
  AND NOT regexp_full_match(id, getvariable('unnamed_ids'))
  AND node NOT IN (SELECT node FROM name_statement);

CREATE OR REPLACE TEMP TABLE named_often AS
SELECT DISTINCT node FROM name_statement WHERE position > 1;

CREATE OR REPLACE TABLE naming AS
SELECT node,
       text AS name,
       NULL::VARCHAR[] AS aliases,
       search_names_of([search_name(text)]) AS search_names,
       nullif(name_tag(1, language, tag), '-') AS name_tags
FROM name_statement
WHERE node NOT IN (SELECT node FROM named_often)
UNION ALL
SELECT node,
       texts[1],
       texts[2:],
       search_names_of(list_transform(texts, lambda text: search_name(text))),
       CASE WHEN len(list_filter(tags, lambda tag: tag <> '-')) > 0 THEN array_to_string(tags, ' ') END
FROM (
  SELECT node,
         list(text ORDER BY position) AS texts,
         list(name_tag(position, language, tag) ORDER BY position) AS tags
  FROM name_statement
  WHERE node IN (SELECT node FROM named_often)
  GROUP BY node
);
