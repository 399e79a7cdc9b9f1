-- What the source says of relations: name, its names and aliases, and a comment.
SELECT name, texts, comment FROM relation_words ORDER BY name
