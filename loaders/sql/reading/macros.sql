-- What may stand in a graph, and how literals, names and checksums are written.
CREATE OR REPLACE MACRO fault_of_id(id) AS CASE
  WHEN id IS NULL OR id = '' THEN 'an id is empty'
  WHEN strlen(id) > 8000 THEN 'an id is longer than 8,000 bytes'
  WHEN contains(id, chr(0)) THEN 'an id has a zero byte in it'
END;

CREATE OR REPLACE MACRO fault_of_relation(name) AS CASE
  WHEN name IS NULL OR name = '' THEN 'the relation is empty'
  WHEN strlen(name) > 8000 THEN 'the relation is longer than 8,000 bytes'
  WHEN contains(name, chr(0)) OR contains(name, '\u')
    THEN 'the relation has a zero byte or \u in it, which Neo4j cannot have in a relationship type'
END;

CREATE OR REPLACE MACRO escaped(value) AS
  replace(replace(replace(replace(replace(value, '\', '\\'), '"', '\"'), chr(10), '\n'), chr(13), '\r'), chr(9), '\t');

CREATE OR REPLACE MACRO literal_term(value, datatype, language) AS
  '"' || escaped(value) || '"' || coalesce('@' || language, '^^<' || datatype || '>', '');

CREATE OR REPLACE MACRO within_a_key(term) AS
  CASE WHEN strlen(term) > 8000 THEN 'sha256:' || sha256(term) ELSE term END;

CREATE OR REPLACE MACRO literal_id(value, datatype, language) AS within_a_key(literal_term(value, datatype, language));

CREATE OR REPLACE MACRO search_name(name) AS
  regexp_replace(replace(nfc_normalize(name), '_', ' '), getvariable('outer_blanks'), '', 'g');

CREATE OR REPLACE MACRO list_distinct_in_order(items) AS
  list_filter(items, lambda item, position: list_position(items, item) = position);

-- How a language is preferred, the smallest number first: en, then en-GB (RFC 4647), then the next, then others.
CREATE OR REPLACE MACRO language_rank(language) AS coalesce(list_min(list_transform(
  getvariable('languages'),
  lambda wanted, place: CASE
    WHEN lower(language) = wanted THEN 2 * place
    WHEN starts_with(lower(language), wanted || '-') THEN 2 * place + 1
  END)), 2 * len(getvariable('languages')) + 2);

CREATE OR REPLACE MACRO is_preferred(language) AS
  language IS NULL OR language_rank(language) < 2 * len(getvariable('languages')) + 2;

-- The last part of an IRI or of a dotted name, and its words: "lawful evil" of lawfulEvil, "Battle Imp" of BattleImp.
CREATE OR REPLACE MACRO local_part(iri) AS regexp_extract(rtrim(iri, '/#'), '[^/#:]*$');
CREATE OR REPLACE MACRO split_words(local) AS trim(regexp_replace(regexp_replace(
  CASE WHEN regexp_matches(local, '^[a-z]') AND regexp_matches(local, '[a-z][A-Z]') AND NOT regexp_matches(local, '[A-Z]{2}')
    THEN lower(regexp_replace(local, '([a-z0-9])([A-Z])', '\1 \2', 'g'))
    ELSE regexp_replace(local, '([a-z])([A-Z])', '\1 \2', 'g')
  END, CASE WHEN regexp_matches(local, '[0-9]') THEN '_' ELSE '[_-]' END, ' ', 'g'), ' +', ' ', 'g'));

-- The initials that a name is also called by; engine/linking/names.py says which.
CREATE OR REPLACE MACRO apart(name) AS
  ' ' || regexp_replace(regexp_extract(name, '^[^(,]*'), '[\x00-&(-/:-@\[-`{-\x7f]+', '  ', 'g') || ' ';

CREATE OR REPLACE MACRO letters_of(words) AS
  upper(regexp_extract(regexp_replace(words, ' +([^ ])[^ ]*', '\1', 'g'), '^([A-Za-z][A-Za-z0-9]{1,5}) *$', 1));

CREATE OR REPLACE MACRO initials(name) AS [
  letters_of(regexp_replace(apart(name), ' (' || getvariable('small_words') || ') ', '', 'g')),
  letters_of(regexp_replace(apart(name), ' (' || getvariable('small_words') || ') .*', ''))
];

-- How a name is also written, where the index would not find it; models/wording says which.
CREATE OR REPLACE MACRO other_spellings(name) AS [
  CASE WHEN strip_accents(name) <> name AND regexp_matches(strip_accents(name), '[\x{250}-\x{10FFFF}]')
    THEN strip_accents(name) ELSE '' END,
  CASE WHEN contains(name, '.') AND regexp_matches(name, '\b[A-Za-z]\.[A-Za-z]\.')
    THEN regexp_replace(name, '\b([A-Za-z])\.([A-Za-z])\.', '\1\2', 'g') ELSE '' END,
  CASE WHEN regexp_full_match(lower(name), getvariable('stop_names'))
    THEN replace(lower(name), ' ', '_') || '_' ELSE '' END,
  CASE WHEN regexp_full_match(name, '[A-Z][a-z]+(?:[A-Z][a-z]{2,})+')
    THEN regexp_replace(name, '([a-z])([A-Z])', '\1 \2', 'g') ELSE '' END
];

-- What an entity with these names is found by.
CREATE OR REPLACE MACRO search_names_of(whole) AS list_transform(
  [whole || flatten(list_transform(whole, lambda name: other_spellings(name) || initials(name)))],  -- a list of one, computed once
  lambda found: nullif(list_filter(list_distinct_in_order(found), lambda name: name <> ''), []))[1];

-- What is remembered of a name beside its text: `<language>[/alias|/name]`, or `-`; see naming.py.
CREATE OR REPLACE MACRO name_tag(position, language, tag) AS coalesce(nullif(
  coalesce(language, '') || CASE
    WHEN position = 1 AND tag = 'alias' THEN '/alias'
    WHEN position > 1 AND tag = 'name' THEN '/name'
    ELSE ''
  END, ''), '-');

-- The checksum of a set of triples: of each, the square of a weighted sum of three 31-bit hashes modulo the prime 2^31 - 1;
-- of all, their sum modulo 2^63. It depends on what is in the set, not on its order.
CREATE OR REPLACE MACRO hashed(text) AS (md5_number_lower(text) % 2147483647)::BIGINT;

CREATE OR REPLACE MACRO fingerprint(head, relation, tail) AS
  (((head * 3 + relation * 5 + tail * 7) % 2147483647) * ((head * 3 + relation * 5 + tail * 7) % 2147483647) % 2147483647)::INTEGER;

-- A part of a source and a line in it as one number, and back.
CREATE OR REPLACE MACRO placed(part, line) AS (part::BIGINT << 40) | line;
CREATE OR REPLACE MACRO line_of(place) AS place & 1099511627775;

-- A number as neo4j-admin's import reads it.
CREATE OR REPLACE MACRO java_double(number) AS
  CASE WHEN isinf(number) THEN CASE WHEN number > 0 THEN 'Infinity' ELSE '-Infinity' END ELSE number::VARCHAR END;

-- Whether a node is among those that are read now.
CREATE OR REPLACE MACRO is_asked(node) AS node BETWEEN getvariable('first') AND getvariable('last');
