SELECT count(*) FROM statement
