// A date compares so: it is before one if its last day is before the first, it equals one that it lies within.
CASE $op
  WHEN '<' THEN last < $first WHEN '<=' THEN last <= $last
  WHEN '>' THEN first > $last WHEN '>=' THEN first >= $first
  WHEN '=' THEN first >= $first AND last <= $last ELSE first > $last OR last < $first END
