// Read a typed value: a number in a base unit with its dimension, or a date from its first day to its last. A whole number
// that may be a year is both.
WITH v, trim(coalesce(e.value, e.name, '')) AS text, e.number AS number, coalesce(e.dimension, '') AS unit,
     e.first_day AS first, e.last_day AS last
