-- The typed values of literals without a language, and of the names of entities, by node.
CREATE OR REPLACE TEMP TABLE text_of AS
SELECT node AS key, value AS text, datatype FROM literal WHERE language IS NULL
UNION ALL
SELECT node, name, NULL FROM naming;

CREATE OR REPLACE TABLE typed AS
SELECT key::UINTEGER AS node, number, dimension, first_day, last_day FROM typed_values('text_of');

DROP TABLE text_of;
