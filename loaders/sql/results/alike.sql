-- How many ids differ from another only in case, spaces or Unicode's normal form, and two that do.
WITH folded AS (
  SELECT id, hash(lower(nfc_normalize(regexp_replace(trim(id), '\s+', ' ', 'g')))) AS form FROM entity
),
alike AS (
  SELECT form, count(*) - 1 AS size, list_sort(list(id))[1:2] AS ids FROM folded GROUP BY form HAVING count(*) > 1
)
SELECT coalesce(sum(size), 0)::BIGINT AS num_alike, coalesce(arg_min(ids, ids), []) AS alike FROM alike
