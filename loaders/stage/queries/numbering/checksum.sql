-- Number and checksum of triples that come as a stream; the same as those of a stage that holds the same triples.
SELECT count(*) AS num_triples,
       (coalesce(sum(fingerprint(
          hashed(head),
          hashed(relation),
          hashed(CASE WHEN is_literal THEN literal_id(tail, datatype, language) ELSE tail END)
        )), 0) % 9223372036854775807)::BIGINT AS checksum
FROM streamed
