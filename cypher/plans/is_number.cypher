// A number compares so; of the same dimension, if the wanted one has a unit.
($unit = '' OR unit = $unit)
  AND CASE $op
    WHEN '<' THEN number < $number WHEN '<=' THEN number <= $number
    WHEN '>' THEN number > $number WHEN '>=' THEN number >= $number
    WHEN '=' THEN number = $number ELSE number <> $number END
