-- Which of some relations are wanted.
SELECT name, is_wanted(name) FROM asked_relation
