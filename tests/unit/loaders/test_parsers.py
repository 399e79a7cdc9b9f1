"""The SQL parsers: what they return, what each fault is called, and what real files have in them."""

from __future__ import annotations

import pytest
from lodestar.loaders.formats.freebase import read_noise_rules

from tests.references.parsed import delimited_parameters, freebase_parameters, parsed
from tests.references.parsers import Parsed

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
NTRIPLES = {"bases": None, "names": [LABEL], "aliases": [], "languages": ["en"], "all_languages": False}


def freebase(line: str, languages: tuple[str, ...] = ("en",)) -> Parsed:
    ((_, found),) = parsed("freebase", freebase_parameters(languages, False, read_noise_rules()), [line])
    return found


def ntriples(line: str) -> Parsed:
    ((_, found),) = parsed("ntriples", NTRIPLES, [line])
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("</m.1>\t</p.q.r>\t</m.2>\t.", Parsed("triple", "m.1", "p.q.r", "m.2")),
        (
            "<http://rdf.freebase.com/ns/m.1>\t<http://rdf.freebase.com/ns/p.q.r>\t<http://a.b/c d{e}>\t.",
            Parsed("triple", "m.1", "p.q.r", "http://a.b/c d{e}"),
        ),
        ('</m.1>\t</p>\t"1.73"\t.', Parsed("triple", "m.1", "p", "1.73", True)),
        (
            '</m.1>\t</p>\t"1983-01-04"^^<http://www.w3.org/2001/XMLSchema#date>\t.',
            Parsed("triple", "m.1", "p", "1983-01-04", True, "http://www.w3.org/2001/XMLSchema#date"),
        ),
        ('</m.1>\t</p>\t"a"^^<http://www.w3.org/2001/XMLSchema#string>\t.', Parsed("triple", "m.1", "p", "a", True)),
        ('</m.1>\t</p>\t"Mine"@en-GB\t.', Parsed("triple", "m.1", "p", "Mine", True, None, "en-GB")),
        (
            r'</m.1>	</p>	"\\ \" \n \t \r \b \f \' \u00e9 \U0001F600"	.',
            Parsed("triple", "m.1", "p", "\\ \" \n \t \r \b \f ' é 😀", True),
        ),
        (r"</m.\u00e9\q>	</p>	</\u0041>	.", Parsed("triple", "m.é\\q", "p", "A")),
        ('</m.1>\t</type.object.name>\t"Mine"@en\t.', Parsed("name", "m.1", tail="Mine", language="en", tag="name")),
        ('</m.1>\t</common.topic.alias>\t"M"@EN\t.', Parsed("name", "m.1", tail="M", language="EN", tag="alias")),
        ('</m.1>\t</type.object.name>\t"Mine"\t.', Parsed("name", "m.1", tail="Mine", tag="name")),
        ('</m.1>\t</type.object.name>\t"Mine"@de\t.', Parsed("other language")),
        ('</m.1>\t</type.object.name>\t" "@en\t.', Parsed("empty name")),
        (
            "</m.1>\t</type.object.type>\t</people.person>\t.",
            Parsed("triple", "m.1", "type.object.type", "people.person"),
        ),
        ("</m.1>\t</type.object.type>\t</common.topic>\t.", Parsed("noise")),
        ("</people.person>\t</type.type.instance>\t</m.1>\t.", Parsed("noise")),
        ('</m.1>\t<http://rdf.freebase.com/key/wikipedia.en>\t"Mine"\t.', Parsed("noise")),
        ("# Freebase", Parsed("comment")),
        (" \t", Parsed("blank")),
    ],
)
def test_freebase(line: str, expected: Parsed) -> None:
    assert freebase(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("</a> </b> </c> .", "expected subject, predicate, object and a full stop parted by tabs, found 1 column"),
        ("</a>\t</b>\t</c>", "expected subject, predicate, object and a full stop parted by tabs, found 3 columns"),
        (
            '</a>\t</b>\t"x\ty"\t.',
            "expected subject, predicate, object and a full stop parted by tabs, found 5 columns",
        ),
        ("</a>\t</b>\t</c>\t", "expected a full stop in column 4, found nothing"),
        ("</a>\t</b>\t</c>\t. ", "expected a full stop in column 4, found other text"),
        ('"a"\t</b>\t</c>\t.', "expected an IRI in column 1, found a literal"),
        ("\t</b>\t</c>\t.", "expected an IRI in column 1, found nothing"),
        ("m.1\t</b>\t</c>\t.", "expected an IRI in column 1, found other text"),
        ("_:a\t</b>\t</c>\t.", "expected an IRI in column 1, found a blank node"),
        ("</a>\t</b\t</c>\t.", "expected an IRI in column 2, found an IRI that does not end"),
        ("</a>\t<>\t</c>\t.", "expected an IRI in column 2, found an empty IRI"),
        ("</a>\t</b> </d>\t</c>\t.", "expected an IRI in column 2, found an IRI and more"),
        ("</a>\t</b>\tc\t.", "expected an IRI or a literal in column 3, found other text"),
        ('</a>\t</b>\t"x\t.', "the literal in column 3 does not end"),
        ('</a>\t</b>\t"x\\"\t.', "the literal in column 3 does not end"),
        ('</a>\t</b>\t"\\q"\t.', "the literal in column 3 has an escape that is none"),
        ('</a>\t</b>\t"\\ud83d\\ude00"\t.', "the literal in column 3 has an escape that is none"),
        ('</a>\t</b>\t"\\u0000"\t.', "the literal in column 3 has an escape that is none"),
        ('</a>\t</b>\t"\\U00110000"\t.', "the literal in column 3 has an escape that is none"),
        ('</a>\t</b>\t"x"en\t.', "expected @language or ^^<datatype> after the literal in column 3"),
        ('</a>\t</b>\t"x"^^xsd:date\t.', "expected @language or ^^<datatype> after the literal in column 3"),
        ('</a>\t</b>\t"x" \t.', "expected @language or ^^<datatype> after the literal in column 3"),
        ("</>\t</b>\t</c>\t.", "expected an identifier after the prefix in column 1, found nothing"),
        (
            "</a>\t<http://rdf.freebase.com/ns/>\t</c>\t.",
            "expected an identifier after the prefix in column 2, found nothing",
        ),
        ("</a>\t</type.object.name>\t</b>\t.", "expected a literal as a name in column 3, found an IRI"),
    ],
)
def test_faults_of_freebase(line: str, reason: str) -> None:
    assert freebase(line) == Parsed("reject", reason=reason)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("<a> <b> <c> .", Parsed("triple", "a", "b", "c")),
        ("<a><b><c>.", Parsed("triple", "a", "b", "c")),
        ("\t <a>\t\t<b>  <c>\t. \t# <d> .", Parsed("triple", "a", "b", "c")),
        ("_:b.1 <b> _:c.", Parsed("triple", "_:b.1", "b", "_:c")),
        ('<a> <b> "x \\" y"@de-CH .', Parsed("triple", "a", "b", 'x " y', True, None, "de-CH")),
        ('<a> <b> "1"^^<http://t/\\u00e9>.', Parsed("triple", "a", "b", "1", True, "http://t/é")),
        ("<\\u00e9> <b> <c> .", Parsed("triple", "é", "b", "c")),
        (f'<a> <{LABEL}> "A"@en .', Parsed("name", "a", tail="A", language="en", tag="name")),
        (f'<a> <{LABEL}> "A"@fr .', Parsed("other language")),
        (f"<a> <{LABEL}> <c> .", Parsed("triple", "a", LABEL, "c")),
        ("# <a> <b> <c> .", Parsed("comment")),
        ("", Parsed("blank")),
    ],
)
def test_ntriples(line: str, expected: Parsed) -> None:
    assert ntriples(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a b c .", "expected an IRI or a blank node as the subject, found other text"),
        ('"a" <b> <c> .', "expected an IRI or a blank node as the subject, found a literal"),
        (
            "<a b> <b> <c> .",
            "expected an IRI or a blank node as the subject, found an IRI with a space, a quote or a bracket in it",
        ),
        ("<a", "expected an IRI or a blank node as the subject, found an IRI that does not end"),
        ("<a> _:b <c> .", "expected an IRI as the predicate, found a blank node"),
        ("<a>", "expected an IRI as the predicate, found nothing"),
        ("<a> <b> .", "expected an IRI, a blank node or a literal as the object, found other text"),
        ("<a> <b> <> .", "expected an IRI, a blank node or a literal as the object, found an empty IRI"),
        ('<a> <b> "c .', "the literal as the object does not end"),
        ('<a> <b> "\\x" .', "the literal as the object has an escape that is none"),
        ('<a> <b> "c"@ .', "expected @language or ^^<datatype> after the literal as the object"),
        ('<a> <b> "c"^^x .', "expected @language or ^^<datatype> after the literal as the object"),
        ("<a> <b> <c>", "expected a full stop after the object, found nothing"),
        ("<a> <b> <c> <d> .", "expected a full stop after the object, found an IRI"),
        ("<a> <b> <c> . <d>", "expected nothing after the full stop, found an IRI"),
    ],
)
def test_faults_of_ntriples(line: str, reason: str) -> None:
    assert ntriples(line) == Parsed("reject", reason=reason)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a\tb\tc", Parsed("triple", "a", "b", "c")),
        ("m.1\ta.b|c.d\tm.2", Parsed("triple", "m.1", "a.b|c.d", "m.2")),
        (' a \tb\t"c', Parsed("triple", " a ", "b", '"c')),
        ("a\tb\t9^^http://t", Parsed("triple", "a", "b", "9", True, "http://t")),
        ("a\tb\t^^https://t", Parsed("triple", "a", "b", "", True, "https://t")),
        ("a\tb\t9^^t", Parsed("triple", "a", "b", "9^^t")),
        ('a\tb\t"c"', Parsed("triple", "a", "b", '"c"')),
        ('a\tb\t"c\\n"@en', Parsed("triple", "a", "b", "c\n", True, None, "en")),
        ('a\tb\t"c"^^<t>', Parsed("triple", "a", "b", "c", True, "t")),
        ('a\tb\t"c" d', Parsed("triple", "a", "b", '"c" d')),
        ("", Parsed("blank")),
        ("a b c", Parsed("reject", reason="expected head, relation and tail parted by tabs, found 1 column")),
        ("a\tb\tc\td", Parsed("reject", reason="expected head, relation and tail parted by tabs, found 4 columns")),
        ("\tb\tc", Parsed("reject", reason="the head is empty")),
        ("a\t\tc", Parsed("reject", reason="the relation is empty")),
        ("a\tb\t", Parsed("reject", reason="the tail is empty")),
        ('"a"@en\tb\tc', Parsed("reject", reason="a literal cannot be the head of a triple")),
    ],
)
def test_tsv(line: str, expected: Parsed) -> None:
    ((_, found),) = parsed("delimited", delimited_parameters(), [line])
    assert found == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a,b,c", Parsed("triple", "a", "b", "c")),
        ('"a, ""A""",b,"c"', Parsed("triple", 'a, "A"', "b", "c")),
        ('a,b,"""c""@en"', Parsed("triple", "a", "b", "c", True, None, "en")),
        ('a,b,""', Parsed("reject", reason="the tail is empty")),
        ('a,b,"c', Parsed("reject", reason="a quote is out of place, or does not end on its line")),
        ('a,b,c"', Parsed("reject", reason="a quote is out of place, or does not end on its line")),
        ('a,"b" ,c', Parsed("triple", "a", "b", "c")),
        ('a,"b"x,c', Parsed("reject", reason="a quote is out of place, or does not end on its line")),
    ],
)
def test_csv(line: str, expected: Parsed) -> None:
    ((_, found),) = parsed("delimited", delimited_parameters(separator=",", quoted=True), [line])
    assert found == expected


def test_names() -> None:
    rows = parsed("names", {}, ["m.1\tLima\tCity_of_Kings\t\tThe City", "m.2\t", "m.3\t\tPeru", "", "m.4", "\tNobody"])
    assert rows == [
        (1, Parsed("name", "m.1", tail="City_of_Kings", tag="alias")),
        (1, Parsed("name", "m.1", tail="Lima")),
        (1, Parsed("name", "m.1", tail="The City", tag="alias")),
        (2, Parsed("empty name")),
        (3, Parsed("empty name")),
        (3, Parsed("name", "m.3", tail="Peru", tag="alias")),
        (4, Parsed("blank")),
        (5, Parsed("reject", reason="expected an id and a name parted by a tab, found 1 column")),
        (6, Parsed("reject", reason="the id is empty")),
    ]
