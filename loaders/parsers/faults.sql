-- Macros that say why a line is not a statement: what was expected where, and what was found. Run after `terms.sql`.

-- What was found instead of the expected text.
CREATE OR REPLACE TEMP MACRO found_term(term) AS
    CASE
        WHEN coalesce(term, '') = '' THEN 'nothing'
        WHEN starts_with(term, '"') THEN 'a literal'
        WHEN starts_with(term, '_:') THEN 'a blank node'
        WHEN starts_with(term, '<>') THEN 'an empty IRI'
        WHEN regexp_matches(term, '^<[^<>" \t]+>') THEN 'an IRI'
        WHEN starts_with(term, '<') AND contains(term, '>') THEN 'an IRI with a space, a quote or a bracket in it'
        WHEN starts_with(term, '<') THEN 'an IRI that does not end'
        ELSE 'other text'
    END;
CREATE OR REPLACE TEMP MACRO found_column(term) AS
    CASE WHEN regexp_matches(term, '^<[^>]+>') THEN 'an IRI and more' ELSE found_term(term) END;

-- Why text that begins with a quote is not a literal.
CREATE OR REPLACE TEMP MACRO literal_fault(term, place) AS
    CASE
        WHEN regexp_full_match(term, '"(?:[^"\\]|\\.)*\\?') THEN 'the literal ' || place || ' does not end'
        WHEN NOT regexp_matches(term, '^"' || body_pattern() || '"') THEN
            'the literal ' || place || ' has an escape that is none'
        ELSE 'expected @language or ^^<datatype> after the literal ' || place
    END;

-- Why the columns of a line of the Freebase dump are not a statement.
CREATE OR REPLACE TEMP MACRO freebase_fault(terms) AS
    CASE
        WHEN len(terms) <> 4 THEN 'expected subject, predicate, object and a full stop parted by tabs, found '
            || len(terms) || CASE len(terms) WHEN 1 THEN ' column' ELSE ' columns' END
        WHEN terms[4] <> '.' THEN
            'expected a full stop in column 4, found ' || CASE terms[4] WHEN '' THEN 'nothing' ELSE 'other text' END
        WHEN NOT is_iri(terms[1]) THEN 'expected an IRI in column 1, found ' || found_column(terms[1])
        WHEN NOT is_iri(terms[2]) THEN 'expected an IRI in column 2, found ' || found_column(terms[2])
        WHEN starts_with(terms[3], '"') AND literal_parts(terms[3]) IS NULL THEN literal_fault(terms[3], 'in column 3')
        WHEN NOT starts_with(terms[3], '"') AND NOT is_iri(terms[3]) THEN
            'expected an IRI or a literal in column 3, found ' || found_column(terms[3])
        WHEN bare_freebase_id(terms[1]) = '' THEN 'expected an identifier after the prefix in column 1, found nothing'
        WHEN bare_freebase_id(terms[2]) = '' THEN 'expected an identifier after the prefix in column 2, found nothing'
        WHEN bare_freebase_id(terms[3]) = '' THEN 'expected an identifier after the prefix in column 3, found nothing'
        ELSE 'expected a literal as a name in column 3, found an IRI'
    END;
