-- A name that has a text in it, if there is any.
SELECT node FROM name_statement WHERE contains(text, getvariable('text')) LIMIT 1
