-- The ids of the entities and of the literals, of which none is collected yet.
CREATE OR REPLACE TABLE entity_term (id VARCHAR);
CREATE OR REPLACE TABLE literal_term (id VARCHAR, value VARCHAR, datatype VARCHAR, language VARCHAR);
