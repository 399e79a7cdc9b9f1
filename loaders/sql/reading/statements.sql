-- What a source says, a row a statement. Triples between entities have no detail, all others have one:
-- [category, datatype, language, tag, reason]. A place is the number of the source's part and of the line in it.
CREATE TABLE statement (place BIGINT, head VARCHAR, relation VARCHAR, tail VARCHAR, detail VARCHAR[]);

CREATE VIEW entity_triple AS
SELECT place, head, relation, tail FROM statement WHERE detail IS NULL;

CREATE VIEW literal_triple AS
SELECT place, head, relation, tail AS value, detail[2] AS datatype, detail[3] AS language
FROM statement
WHERE detail[1] = 'triple';

CREATE VIEW said_name AS
SELECT place, rowid AS ordinal, head AS id, relation, tail AS text, detail[3] AS language,
       coalesce(detail[4], '') = 'alias' AS is_alias, detail[4] AS tag
FROM statement
WHERE detail[1] = 'name';

CREATE TABLE wanted_relation (name VARCHAR);

-- Whether a relation passes the restrictions of a subset.
CREATE OR REPLACE MACRO is_wanted(relation) AS
  (NOT getvariable('by_relation')
   OR relation IN (SELECT name FROM wanted_relation)
   OR regexp_full_match(relation, getvariable('wanted_pattern')));
