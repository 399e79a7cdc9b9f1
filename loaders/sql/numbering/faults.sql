-- Ids and relations that cannot stand in a graph, which no line parser looks for.
CREATE OR REPLACE TEMP TABLE fault AS
SELECT id AS text, false AS is_relation, fault_of_id(id) AS reason FROM entity WHERE fault_of_id(id) IS NOT NULL
UNION ALL
SELECT name, true, fault_of_relation(name) FROM relation WHERE fault_of_relation(name) IS NOT NULL;
SELECT count(*) FROM fault
