-- The tails that are written as values, each once, and how many there are.
CREATE OR REPLACE TEMP TABLE value_text AS
SELECT DISTINCT tail AS text FROM statement WHERE detail[1] = 'triple' AND detail[4] = 'value';
SELECT count(*) FROM value_text
