-- The typed value of a text: a number in a base unit with its dimension, or the first and the last day that a date may mean,
-- as year · 10000 + month · 100 + day (the year 0 is 1 BC, as in XML Schema 1.1). A whole number from 1000 to 2100 is both
-- a number and a year. Numbers are read as people write them: 2.5E6, 1,234.5, 1.234.567, 3,5, $5,000, 900 m, 12%.

-- Factors to the base unit of a dimension: metres, square metres, litres, kilograms, seconds, bytes.
CREATE OR REPLACE MACRO unit_of(unit) AS MAP {
  'nm': ('length', 1e-9), 'µm': ('length', 1e-6), 'mm': ('length', 1e-3), 'cm': ('length', 0.01), 'dm': ('length', 0.1),
  'm': ('length', 1), 'metre': ('length', 1), 'metres': ('length', 1), 'meter': ('length', 1), 'meters': ('length', 1),
  'km': ('length', 1000), 'kilometre': ('length', 1000), 'kilometres': ('length', 1000), 'kilometer': ('length', 1000),
  'kilometers': ('length', 1000), 'in': ('length', 0.0254), 'inch': ('length', 0.0254), 'inches': ('length', 0.0254),
  'ft': ('length', 0.3048), 'foot': ('length', 0.3048), 'feet': ('length', 0.3048), 'yd': ('length', 0.9144),
  'mi': ('length', 1609.344), 'mile': ('length', 1609.344), 'miles': ('length', 1609.344),
  'm2': ('area', 1), 'm²': ('area', 1), 'km2': ('area', 1e6), 'km²': ('area', 1e6), 'sq km': ('area', 1e6),
  'sq mi': ('area', 2589988.11), 'square miles': ('area', 2589988.11), 'square kilometres': ('area', 1e6),
  'square kilometers': ('area', 1e6), 'ha': ('area', 1e4), 'hectares': ('area', 1e4), 'acres': ('area', 4046.8564),
  'ml': ('volume', 1e-3), 'cl': ('volume', 0.01), 'l': ('volume', 1), 'litres': ('volume', 1), 'liters': ('volume', 1),
  'm3': ('volume', 1000), 'm³': ('volume', 1000), 'mg': ('mass', 1e-6), 'g': ('mass', 1e-3), 'kg': ('mass', 1),
  't': ('mass', 1000), 'tonnes': ('mass', 1000), 'tons': ('mass', 1000), 'lb': ('mass', 0.45359237),
  'lbs': ('mass', 0.45359237), 'oz': ('mass', 0.028349523), 'ms': ('time', 1e-3), 's': ('time', 1), 'sec': ('time', 1),
  'seconds': ('time', 1), 'min': ('time', 60), 'minutes': ('time', 60), 'h': ('time', 3600), 'hours': ('time', 3600),
  'days': ('time', 86400), 'weeks': ('time', 604800), 'months': ('time', 2629746), 'years': ('time', 31556952),
  'kb': ('data', 1e3), 'mb': ('data', 1e6), 'gb': ('data', 1e9), 'tb': ('data', 1e12), '%': ('percent', 1),
  'percent': ('percent', 1), 'km/h': ('speed', 0.27777778), 'mph': ('speed', 0.44704), 'm/s': ('speed', 1),
  '$': ('USD', 1), 'usd': ('USD', 1), 'dollars': ('USD', 1), '€': ('EUR', 1), 'eur': ('EUR', 1), 'euros': ('EUR', 1),
  '£': ('GBP', 1), 'gbp': ('GBP', 1), 'pounds': ('GBP', 1), '¥': ('JPY', 1), 'chf': ('CHF', 1), 'jpy': ('JPY', 1),
  'Q11573': ('length', 1), 'Q828224': ('length', 1000), 'Q174728': ('length', 0.01), 'Q174789': ('length', 1e-3),
  'Q253276': ('length', 1609.344), 'Q3710': ('length', 0.3048), 'Q218593': ('length', 0.0254), 'Q712226': ('area', 1e6),
  'Q25343': ('area', 1), 'Q35852': ('area', 1e4), 'Q11570': ('mass', 1), 'Q41803': ('mass', 1e-3), 'Q191118': ('mass', 1000),
  'Q11574': ('time', 1), 'Q7727': ('time', 60), 'Q25235': ('time', 3600), 'Q573': ('time', 86400), 'Q5151': ('time', 2629746),
  'Q577': ('time', 31556952), 'Q4917': ('USD', 1), 'Q4916': ('EUR', 1), 'Q25224': ('GBP', 1)
}[unit];

CREATE OR REPLACE MACRO scale_of(word) AS coalesce(MAP {
  'k': 1e3, 'thousand': 1e3, 'm': 1e6, 'mio': 1e6, 'million': 1e6, 'bn': 1e9, 'b': 1e9, 'billion': 1e9, 'tn': 1e12,
  'trillion': 1e12
}[word], 1);

CREATE OR REPLACE MACRO written_number(digits) AS try_cast(CASE
  WHEN NOT contains(digits, ',') AND NOT regexp_matches(digits, '\..*\.') THEN digits
  WHEN regexp_full_match(digits, '[+-]?[0-9]{1,3}(,[0-9]{2,3})*,[0-9]{3}(\.[0-9]+)?') THEN replace(digits, ',', '')
  WHEN regexp_full_match(digits, '[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?|[+-]?[0-9]+,[0-9]+')
    THEN replace(replace(digits, '.', ''), ',', '.')
END AS DOUBLE);

CREATE OR REPLACE MACRO number_parts(text) AS regexp_extract(
  text,
  '^([$€£¥]|(?i:usd|eur|gbp|chf|jpy))? ?([+-]?(?:[0-9][0-9.,]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)'
  || ' ?((?i:k|bn|b|tn|thousand|mio|million|billion|trillion)\b)? ?([^0-9]*)$',
  ['currency', 'digits', 'scale', 'unit']
);

CREATE OR REPLACE MACRO day_number(year, month, day) AS year * 10000 + month * 100 + day;

CREATE OR REPLACE MACRO days_of(year, month, day) AS CASE
  WHEN year IS NULL THEN NULL
  WHEN month > 12 OR day > 31 THEN NULL
  WHEN month = 0 THEN {'first': day_number(year, 1, 1), 'last': day_number(year, 12, 31)}
  WHEN day = 0 THEN {'first': day_number(year, month, 1), 'last': day_number(year, month, 31)}
  ELSE {'first': day_number(year, month, day), 'last': day_number(year, month, day)}
END;

CREATE OR REPLACE MACRO date_parts(text) AS regexp_extract(
  text,
  '^([+-]?[0-9]{4,6})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ][0-9:.]+)?)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?$',
  ['year', 'month', 'day']
);

-- The typed values of a table (key, text, datatype), a row for each text that has one.
CREATE OR REPLACE MACRO typed_values(literals) AS TABLE
WITH candidate AS (
  SELECT key, trim(text) AS text, coalesce(datatype, '') AS datatype,
    regexp_matches(coalesce(datatype, ''), '(?i)(date|gYear|gYearMonth|dateTime)$') AS is_date
  FROM query_table(literals)
  WHERE length(text) <= 40 AND (regexp_matches(text, '[0-9]') OR text IN ('INF', '+INF', '-INF'))
),
dated AS (
  SELECT *,
    CASE WHEN is_date OR regexp_matches(text, '^[+-]?[0-9]{4,6}-[0-9]{2}') THEN date_parts(text) END AS iso,
    CASE
      WHEN regexp_full_match(text, '[0-9]{1,5} ?(?i:bce?|b\.c\.(?:e\.)?)')
        THEN days_of(1 - CAST(regexp_extract(text, '[0-9]+') AS BIGINT), 0, 0)
      WHEN regexp_matches(text, '^[0-9]{0,2} ?[A-Za-z]{3,9} ([0-9]{1,2},? )?[0-9]{4}$') THEN CASE
        WHEN try_strptime(text, ['%d %B %Y', '%d %b %Y', '%B %d, %Y', '%b %d, %Y', '%B %d %Y']) IS NOT NULL THEN days_of(
          year(try_strptime(text, ['%d %B %Y', '%d %b %Y', '%B %d, %Y', '%b %d, %Y', '%B %d %Y'])),
          month(try_strptime(text, ['%d %B %Y', '%d %b %Y', '%B %d, %Y', '%b %d, %Y', '%B %d %Y'])),
          day(try_strptime(text, ['%d %B %Y', '%d %b %Y', '%B %d, %Y', '%b %d, %Y', '%B %d %Y'])))
        ELSE days_of(
          year(try_strptime(text, ['%B %Y', '%b %Y'])), month(try_strptime(text, ['%B %Y', '%b %Y'])), 0)
      END
    END AS spoken
  FROM candidate
),
parted AS (
  SELECT *,
    coalesce(spoken, days_of(
      try_cast(iso.year AS BIGINT), coalesce(try_cast(iso.month AS BIGINT), 0), coalesce(try_cast(iso.day AS BIGINT), 0)
    )) AS days,
    CASE WHEN spoken IS NULL AND coalesce(iso.year, '') = '' THEN number_parts(text) END AS part
  FROM dated
),
united AS (
  SELECT *,
    coalesce(part.currency, '') <> '' AND part.unit IN ('m', 'M') AS is_millions,
    CASE
      WHEN part.currency <> '' THEN unit_of(lower(part.currency))
      WHEN part.unit <> '' THEN coalesce(unit_of(trim(part.unit)), unit_of(lower(trim(part.unit))))
      WHEN part.digits <> '' THEN unit_of(regexp_extract(datatype, '[^/#]*$'))
    END AS unit
  FROM parted
),
numbered AS (
  SELECT *,
    CASE
      WHEN text IN ('INF', '+INF') THEN 'inf'::DOUBLE
      WHEN text = '-INF' THEN '-inf'::DOUBLE
      WHEN part.digits <> '' AND (part.unit = '' OR is_millions OR (unit IS NOT NULL AND part.currency = '')) THEN
        written_number(part.digits) * coalesce(unit[2], 1)
          * CASE WHEN is_millions THEN 1e6 ELSE scale_of(lower(part.scale)) END
    END AS number,
    unit[1] IS NULL AND regexp_full_match(text, '1[0-9]{3}|20[0-9]{2}|2100') AS is_year
  FROM united
)
SELECT key, number, CASE WHEN number IS NOT NULL THEN unit[1] END AS dimension,
  CASE WHEN days IS NOT NULL THEN days.first WHEN is_year THEN day_number(text::BIGINT, 1, 1) END AS first_day,
  CASE WHEN days IS NOT NULL THEN days.last WHEN is_year THEN day_number(text::BIGINT, 12, 31) END AS last_day
FROM numbered
WHERE number IS NOT NULL OR days IS NOT NULL;
