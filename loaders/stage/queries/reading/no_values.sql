-- Make entities again of the tails that are written like values, but have a name or are the head of a triple. An encoded
-- term that is written so is a head: lines with such tails are not encoded.
CREATE OR REPLACE TEMP TABLE no_value AS
SELECT text FROM encoded_entity WHERE text IN (SELECT text FROM value_text)
UNION
SELECT head FROM statement WHERE head IN (SELECT text FROM value_text);

UPDATE statement
SET detail = NULL
WHERE detail[1] = 'triple' AND detail[4] = 'value' AND tail IN (SELECT text FROM no_value);
