-- Macros for terms that several formats share: escapes and literals of N-Triples, literals of TSV.

-- The body of a literal: quotes and backslashes only in escapes. A code point in an escape is not a surrogate, not
-- zero, and at most 10FFFF.
CREATE OR REPLACE TEMP MACRO four_digits_pattern() AS
    '(?:[1-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[dD][0-7][0-9A-Fa-f]{2}'
    || '|0[1-9A-Fa-f][0-9A-Fa-f]{2}|00[1-9A-Fa-f][0-9A-Fa-f]|000[1-9A-Fa-f])';
CREATE OR REPLACE TEMP MACRO code_point_pattern() AS
    'u' || four_digits_pattern() || '|U0000' || four_digits_pattern()
    || '|U000[1-9A-Fa-f][0-9A-Fa-f]{4}|U0010[0-9A-Fa-f]{4}';
CREATE OR REPLACE TEMP MACRO body_pattern() AS
    '(?:[^"\\]|\\(?:[tbnrf"''\\]|' || code_point_pattern() || '))*';
CREATE OR REPLACE TEMP MACRO suffix_pattern() AS
    '(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<([^<>" \t]+)>)?';

-- The text with its escapes resolved; invalid ones stay as they are.
CREATE OR REPLACE TEMP MACRO unescaped(escaped) AS
    CASE WHEN contains(escaped, '\') THEN
        array_to_string(list_transform(
            regexp_extract_all(escaped, '\\(?:' || code_point_pattern() || ')|\\.|[^\\]+|\\'),
            lambda piece: CASE
                WHEN length(piece) = 1 OR piece[1] <> '\' THEN piece
                WHEN length(piece) > 2 THEN chr(CAST('0x' || piece[3:] AS INTEGER))
                WHEN piece[2] = 'n' THEN chr(10)
                WHEN piece[2] = 'r' THEN chr(13)
                WHEN piece[2] = 't' THEN chr(9)
                WHEN piece[2] = 'b' THEN chr(8)
                WHEN piece[2] = 'f' THEN chr(12)
                WHEN piece[2] IN ('"', '''', '\') THEN piece[2]
                ELSE piece
            END
        ), '')
    ELSE escaped END;

-- IRIs have only code point escapes.
CREATE OR REPLACE TEMP MACRO unescaped_code_points(escaped) AS
    CASE WHEN contains(escaped, '\') THEN
        array_to_string(list_transform(
            regexp_extract_all(escaped, '\\(?:' || code_point_pattern() || ')|[^\\]+|\\'),
            lambda piece: CASE
                WHEN length(piece) = 1 OR piece[1] <> '\' THEN piece
                ELSE chr(CAST('0x' || piece[3:] AS INTEGER))
            END
        ), '')
    ELSE escaped END;

-- A literal in the syntax of N-Triples: value, language and datatype, empty if there is none; NULL if malformed.
-- Most have no backslash and are cut at their quotes.
CREATE OR REPLACE TEMP MACRO literal_parts(term) AS
    CASE
        WHEN contains(term, '\') THEN
            CASE WHEN regexp_full_match(term, '"' || body_pattern() || '"' || suffix_pattern())
                THEN regexp_extract(term, '^"((?s:.*))"' || suffix_pattern() || '$', ['value', 'language', 'datatype'])
            END
        WHEN regexp_full_match(term, '"[^"]*"') THEN {'value': term[2:-2], 'language': '', 'datatype': ''}
        WHEN regexp_full_match(term, '"[^"]*"' || suffix_pattern()) THEN
            regexp_extract(term, '^"([^"]*)"' || suffix_pattern() || '$', ['value', 'language', 'datatype'])
    END;

-- A plain literal and one of xsd:string are the same.
CREATE OR REPLACE TEMP MACRO stored_datatype(datatype) AS
    CASE WHEN datatype NOT IN ('', 'http://www.w3.org/2001/XMLSchema#string') THEN datatype END;

-- The category of a line without a statement.
CREATE OR REPLACE TEMP MACRO no_statement(text) AS
    CASE
        WHEN regexp_full_match(text, '[ \t]*') THEN 'blank'
        WHEN regexp_matches(text, '^[ \t]*#') THEN 'comment'
        ELSE 'reject'
    END;

-- An IRI in angle brackets, of any characters except the closing bracket.
CREATE OR REPLACE TEMP MACRO is_iri(term) AS
    starts_with(term, '<') AND strpos(term, '>') = length(term) AND length(term) > 2;
CREATE OR REPLACE TEMP MACRO is_bracketed(iri, bare) AS
    starts_with(iri, '<') AND ends_with(iri, '>') AND bare <> '' AND NOT contains(bare, '>');
CREATE OR REPLACE TEMP MACRO freebase_prefix() AS '<http://rdf.freebase.com/ns/';
CREATE OR REPLACE TEMP MACRO is_plain_id(id) AS id <> '' AND NOT contains(id, '>') AND NOT contains(id, chr(9));
CREATE OR REPLACE TEMP MACRO bare_freebase_id(iri) AS
    CASE
        WHEN starts_with(iri, freebase_prefix()) THEN substr(iri, 29, length(iri) - 29)
        WHEN starts_with(iri, '</') THEN substr(iri, 3, length(iri) - 3)
        ELSE substr(iri, 2, length(iri) - 2)
    END;

CREATE OR REPLACE TEMP MACRO written_term(parts) AS
    CASE WHEN parts IS NOT NULL THEN
        {
            'value': unescaped(parts.value), 'language': parts.language,
            'datatype': unescaped_code_points(parts.datatype)
        }
    END;

-- A literal in TSV: value^^datatype (an IRI, with or without brackets, or xsd:date and the like), or the syntax of
-- N-Triples with a datatype or a language; the value is unescaped. NULL for other text: quoted text alone is an id, for
-- example a song's title.
CREATE OR REPLACE TEMP MACRO typed_pattern() AS
    '((?s:.*))\^\^(https?://[^ \t\r]+|<https?://[^<>" \t\r]+>|xsd:[A-Za-z]+)';
CREATE OR REPLACE TEMP MACRO whole_datatype(written) AS
    CASE
        WHEN starts_with(written, 'xsd:') THEN 'http://www.w3.org/2001/XMLSchema#' || written[5:]
        WHEN starts_with(written, '<') THEN written[2:-2]
        ELSE written
    END;
CREATE OR REPLACE TEMP MACRO typed_literal(parts) AS
    {'value': parts.value, 'language': '', 'datatype': whole_datatype(parts.datatype)};
CREATE OR REPLACE TEMP MACRO written_literal(cell) AS
    CASE
        WHEN starts_with(cell, '"') AND ends_with(cell, '"') THEN NULL
        WHEN starts_with(cell, '"') THEN written_term(literal_parts(
            regexp_replace(cell, '"\^\^xsd:([A-Za-z]+)$', '"^^<http://www.w3.org/2001/XMLSchema#\1>')
        ))
        WHEN contains(cell, '^^') THEN
            CASE WHEN regexp_full_match(cell, typed_pattern())
                THEN typed_literal(regexp_extract(cell, '^' || typed_pattern() || '$', ['value', 'datatype']))
            END
    END;
CREATE OR REPLACE TEMP MACRO quoted_column_pattern(separator) AS
    regexp_escape(separator) || CASE separator
        WHEN ' ' THEN '(?:"(?:[^"]|"")*"|[^" ]*)'
        ELSE ' *(?:"(?:[^"]|"")*" *|[^"' || regexp_escape(separator) || ']*)'
    END;

-- The columns of a line, some of them quoted, without spaces around them; NULL if a quote is misplaced or not closed.
CREATE OR REPLACE TEMP MACRO quoted_columns(text, separator) AS
    CASE WHEN regexp_full_match(separator || text, '(?:' || quoted_column_pattern(separator) || ')*') THEN
        list_transform(
            regexp_extract_all(separator || text, quoted_column_pattern(separator)),
            lambda cell: CASE WHEN starts_with(trim(cell[length(separator) + 1:], ' '), '"')
                THEN replace(trim(cell[length(separator) + 1:], ' ')[2:-2], '""', '"')
                ELSE trim(cell[length(separator) + 1:], ' ')
            END
        )
    END;
