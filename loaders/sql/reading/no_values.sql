-- Make entities again of the tails that are written like values, but have a name or are the head of a triple.
CREATE OR REPLACE TEMP TABLE no_value AS
SELECT DISTINCT head AS text FROM statement WHERE head IN (SELECT text FROM value_text);

UPDATE statement
SET detail = NULL
WHERE detail[1] = 'triple' AND detail[4] = 'value' AND tail IN (SELECT text FROM no_value);
