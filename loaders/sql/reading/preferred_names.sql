-- Leave out the names in other languages; of what has no name in a preferred one all but one.
UPDATE statement
SET detail = ['other language']
WHERE detail[1] = 'name' AND NOT is_preferred(detail[3]) AND rowid NOT IN (
  SELECT arg_min(rowid, CASE detail[3] WHEN 'mul' THEN '' WHEN 'en' THEN ' ' ELSE detail[3] END)
  FROM statement
  WHERE detail[1] = 'name'
  GROUP BY head
  HAVING NOT bool_or(is_preferred(detail[3]))
);
