-- The literals whose value is empty: the importer takes an empty text for none.
SELECT id, value, datatype, language FROM literal WHERE value = '' ORDER BY node
