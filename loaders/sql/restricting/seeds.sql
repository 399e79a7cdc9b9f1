-- The entities a neighbourhood is asked for, and those among them that no triple has.
CREATE OR REPLACE TABLE hub (id VARCHAR);
CREATE OR REPLACE TABLE reached AS SELECT DISTINCT unnest(getvariable('around')) AS id, 0 AS hop;
