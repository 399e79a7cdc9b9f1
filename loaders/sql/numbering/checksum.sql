-- Number and checksum of the triples of each load, of triples that come as a stream with the loads that state them; the same
-- as those of a stage that holds the same triples.
SELECT load,
       count(*) AS num_triples,
       (coalesce(sum(fingerprint(
          hashed(head),
          hashed(relation),
          hashed(CASE WHEN is_literal THEN literal_id(tail, datatype, language) ELSE tail END)
        )), 0) % 9223372036854775807)::BIGINT AS checksum
FROM (SELECT *, unnest(loads) AS load FROM streamed)
GROUP BY load
