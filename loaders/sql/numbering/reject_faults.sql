-- Make rejects of the triples that have a fault in them.
CREATE TABLE kept AS
SELECT place,
       CASE WHEN reason IS NULL THEN head END AS head,
       CASE WHEN reason IS NULL THEN relation END AS relation,
       CASE WHEN reason IS NULL THEN tail ELSE concat_ws(chr(9), head, relation, tail) END AS tail,
       CASE WHEN reason IS NULL THEN detail ELSE ['reject', NULL, NULL, NULL, reason] END AS detail
FROM (
  SELECT statement.*, coalesce(of_head.reason, of_relation.reason, of_tail.reason) AS reason
  FROM statement
  LEFT JOIN fault AS of_head ON of_head.text = statement.head AND NOT of_head.is_relation
  LEFT JOIN fault AS of_relation ON of_relation.text = statement.relation AND of_relation.is_relation
  LEFT JOIN fault AS of_tail ON of_tail.text = statement.tail AND statement.detail IS NULL AND NOT of_tail.is_relation
);
DROP TABLE statement;
ALTER TABLE kept RENAME TO statement;
