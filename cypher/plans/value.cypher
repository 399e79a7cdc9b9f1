// Read a value: a number, with or without thousands separators and a unit, or a date from its first day to its last,
// in days of years of twelve months of 31.
WITH e, v, trim(coalesce(e.value, e.name, '')) AS text
WITH v, text, split(text, ' ') AS words, text =~ '\\d{4}-\\d\\d(-\\d\\d)?([T ].*)?' AS is_date,
     text =~ '\\d{4}' AS is_year
WITH v, text, is_date, toLower(coalesce(words[1], '')) AS unit,
     CASE WHEN is_date THEN null ELSE toFloatOrNull(replace(words[0], ',', '')) END AS number,
     CASE WHEN is_date OR is_year THEN split(left(text, 10), '-') END AS date
WITH v, text, is_date, unit, number,
     372 * toInteger(date[0]) + 31 * (toInteger(coalesce(date[1], '1')) - 1)
       + toInteger(coalesce(substring(date[2], 0, 2), '1')) - 1 AS first,
     372 * toInteger(date[0]) + 31 * (toInteger(coalesce(date[1], '12')) - 1)
       + toInteger(coalesce(substring(date[2], 0, 2), '31')) - 1 AS last
