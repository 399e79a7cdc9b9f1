-- How many kinds there are, with what they are subclasses of, and examples to ask for: relations, each with the name of
-- a head that it leads from to one entity, else to one literal, those with most triples first.
WITH RECURSIVE type_relation AS (
  SELECT number FROM relation WHERE regexp_matches(lower(name), '(^|[#/:.])(type|is_?a|instance_?of|p31)$')
),
subclass AS (
  SELECT head, tail FROM triple
  WHERE relation IN (SELECT number FROM relation WHERE regexp_matches(lower(name), '(^|[#/:.])(subclass_?of|is_?a|p279)$'))
),
kind AS (
  SELECT tail AS node FROM triple WHERE relation IN (SELECT number FROM type_relation)
  UNION
  SELECT subclass.tail FROM kind JOIN subclass ON subclass.head = kind.node
),
common AS (
  SELECT number FROM relation
  WHERE number NOT IN (SELECT number FROM type_relation)
    AND NOT regexp_matches(lower(name), 'subclass|sameas|seealso|^xref$|depiction|homepage')
  ORDER BY num_triples DESC LIMIT 20
),
asked AS (
  SELECT relation, head, tail >= (SELECT count(*) FROM entity) AS is_literal
  FROM (SELECT * FROM triple WHERE relation IN (SELECT number FROM common) LIMIT 50000) AS sampled
  WHERE is_literal OR tail IN (SELECT node FROM naming)
  GROUP BY ALL
  HAVING count(*) = 1
)
SELECT (SELECT count(*) FROM kind) AS num_kinds,
       coalesce((
         SELECT list(example ORDER BY is_literal, num_triples DESC, example)
         FROM (
           SELECT is_literal, any_value(relation.num_triples) AS num_triples,
                  arg_min([coalesce(relation_words.texts[1], relation.name), naming.name], (length(naming.name), naming.name)) AS example
           FROM asked
           JOIN relation ON relation.number = asked.relation
           LEFT JOIN relation_words ON relation_words.name = relation.name
           JOIN naming ON naming.node = asked.head
           WHERE length(naming.name) BETWEEN 3 AND 40 AND regexp_full_match(naming.name, '[\p{L}\p{N} .-]+')
           GROUP BY relation.number, is_literal
         )
       ), []) AS examples
