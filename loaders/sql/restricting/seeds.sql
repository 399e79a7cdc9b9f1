-- The entities a neighbourhood is asked for.
CREATE OR REPLACE TABLE reached AS SELECT DISTINCT unnest(getvariable('around')) AS id, 0 AS hop;
