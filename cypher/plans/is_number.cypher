// A number compares so; of a unit, if one is wanted.
NOT is_date AND ($unit = '' OR unit = $unit)
  AND CASE $op
    WHEN '<' THEN number < $number WHEN '<=' THEN number <= $number
    WHEN '>' THEN number > $number WHEN '>=' THEN number >= $number
    WHEN '=' THEN number = $number ELSE number <> $number END
