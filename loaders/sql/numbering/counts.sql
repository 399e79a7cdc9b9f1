-- What the stage holds, by the names of the fields of StageCounts.
SELECT (SELECT count(*) FROM triple) AS num_triples,
       (SELECT count(*) FROM entity) AS num_entities,
       (SELECT count(*) FROM literal) AS num_literals,
       (SELECT count(*) FROM relation) AS num_relations,
       (SELECT count(*) FROM name_statement) AS num_names,
       (SELECT count(*) FROM entity_triple) + (SELECT count(*) FROM literal_triple) - (SELECT count(*) FROM triple)
         AS num_duplicates,
       (SELECT count(*) FROM said_name WHERE id IN (SELECT id FROM entity) OR id NOT IN (SELECT name FROM relation))
         - (SELECT count(*) FROM name_statement WHERE NOT from_id) AS num_names_ignored,
       (SELECT count(*) FROM statement WHERE detail[1] = 'triple' AND detail[4] = 'value') AS num_values,
       (SELECT count(*) FROM entity) - (SELECT count(*) FROM naming) AS num_unnamed,
       (SELECT coalesce(sum(fingerprint), 0) % 9223372036854775807 FROM triple)::BIGINT AS checksum
