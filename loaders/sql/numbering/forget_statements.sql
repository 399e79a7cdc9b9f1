DROP VIEW entity_triple;
DROP VIEW literal_triple;
DROP VIEW said_name;
DROP TABLE statement;
DROP TABLE entity_term;
DROP TABLE literal_term;
