-- The relations with how many triples they have, by number.
SELECT number, name, num_triples FROM relation ORDER BY number
