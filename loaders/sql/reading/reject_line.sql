INSERT INTO statement VALUES (placed(getvariable('part'), $1), NULL, NULL, $3, ['reject', NULL, NULL, NULL, $2])
