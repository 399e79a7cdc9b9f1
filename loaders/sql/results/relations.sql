-- The relations with how many triples they have, by name.
SELECT name, num_triples FROM relation ORDER BY number
