-- A few names.
SELECT id, name FROM entity JOIN naming USING (node) ORDER BY node
