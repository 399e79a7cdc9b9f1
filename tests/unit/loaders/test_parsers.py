"""The SQL parsers: what they return, what each fault is called, and what real files have in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.references.parsed import Parsed, delimited_parameters, freebase_parameters, parsed


def assert_parsed(rows: Sequence[tuple[str, Parsed]], name: str, parameters: Mapping[str, object]) -> None:
    """Each line is what stands beside it; a query takes as long for all as for one."""
    lines, expected = zip(*rows, strict=True)
    assert [found for _, found in parsed(name, parameters, lines)] == list(expected)


FREEBASE_LINES = [
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
]


def test_freebase() -> None:
    assert_parsed(FREEBASE_LINES, "freebase", freebase_parameters(["en"], False))


TSV_LINES = [
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
]


def test_tsv() -> None:
    assert_parsed(TSV_LINES, "delimited", delimited_parameters())


CSV_LINES = [
    ("a,b,c", Parsed("triple", "a", "b", "c")),
    ('"a, ""A""",b,"c"', Parsed("triple", 'a, "A"', "b", "c")),
    ('a,b,"""c""@en"', Parsed("triple", "a", "b", "c", True, None, "en")),
    ('a,b,""', Parsed("reject", reason="the tail is empty")),
    ('a,b,"c', Parsed("reject", reason="a quote is out of place, or does not end")),
    ('a,b,c"', Parsed("reject", reason="a quote is out of place, or does not end")),
    ('a,"b" ,c', Parsed("triple", "a", "b", "c")),
    ('a,"b"x,c', Parsed("reject", reason="a quote is out of place, or does not end")),
]


def test_csv() -> None:
    assert_parsed(CSV_LINES, "delimited", delimited_parameters(separator=",", quoted=True))


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
