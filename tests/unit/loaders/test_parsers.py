"""The SQL parsers by a file of each format: what is read, what is left out, and what each fault is called."""

from __future__ import annotations

from pathlib import Path

from lodestar.loaders.formats.delimited import CsvSource, TsvSource
from lodestar.loaders.formats.freebase import FreebaseSource

from tests.references.read_source import read_source

FREEBASE = r"""</m.1>	</p.q.r>	</m.2>	.
<http://rdf.freebase.com/ns/m.1>	<http://rdf.freebase.com/ns/p.q.r>	<http://a.b/c d{e}>	.
</m.1>	</p>	"1.73"	.
</m.1>	</p>	"1983-01-04"^^<http://www.w3.org/2001/XMLSchema#date>	.
</m.1>	</p>	"a"^^<http://www.w3.org/2001/XMLSchema#string>	.
</m.1>	</p>	"Mine"@en-GB	.
</m.1>	</p>	"\\ \" \n \t \r \b \f \' \u00e9 \U0001F600"	.
</m.\u00e9\q>	</p>	</\u0041>	.
</m.1>	</type.object.name>	"Mine"@en	.
</m.1>	</common.topic.alias>	"M"@EN	.
</m.1>	</type.object.name>	"Meins"@de	.
</m.1>	</type.object.name>	" "@en	.
</m.1>	</type.object.type>	</people.person>	.
</m.1>	</type.object.type>	</common.topic>	.
</people.person>	</type.type.instance>	</m.1>	.
</m.1>	<http://rdf.freebase.com/key/wikipedia.en>	"Mine"	.
# Freebase

"""


def test_freebase(tmp_path: Path) -> None:
    (tmp_path / "fb.nt").write_text(FREEBASE, encoding="utf-8")
    read = read_source(FreebaseSource(str(tmp_path / "fb.nt"), languages=["en"]))
    escaped = "\\ \" \n \t \r \b \f ' é 😀"
    assert read.triples == [
        ("m.1", "p.q.r", "m.2"),
        ("m.1", "p.q.r", "http://a.b/c d{e}"),
        *(("m.1", "p", tail) for tail in ("1.73", "1983-01-04", "a", "Mine", escaped)),
        ("m.é\\q", "p", "A"),
        ("m.1", "type.object.type", "people.person"),
    ]
    date = "http://www.w3.org/2001/XMLSchema#date"
    plain = [(value, None, None) for value in ("1.73", "a", escaped)]
    assert set(read.literals) == {*plain, ("1983-01-04", date, None), ("Mine", None, "en-GB")}
    assert read.names == {"m.1": ["Mine", "M"]}
    left_out = {"noise": 3, "other language": 1, "empty name": 1, "comment": 1, "blank": 1}
    assert read.counts == {"triple": 9, "name": 2, **left_out}


TSV = r"""m.1	a.b|c.d	m.2
 a 	b	"c
a	b	9^^http://t
a	b	^^https://t
a	b	9^^t
a	b	"c"
a	b	"c\n"@en
a	b	"c"^^<t>
a	b	"c" d

a b c
a	b	c	d
	b	c
a		c
"a"@en	b	c
"""


def test_tsv(tmp_path: Path) -> None:
    (tmp_path / "kg.tsv").write_text(TSV + "a\tb\t\n", encoding="utf-8")
    read = read_source(TsvSource(str(tmp_path / "kg.tsv"), has_header=False, values="none"))
    tails = ("9", "", "9^^t", '"c"', "c\n", "c", '"c" d')
    assert read.triples == [("m.1", "a.b|c.d", "m.2"), ("a", "b", '"c'), *(("a", "b", tail) for tail in tails)]
    assert read.literals == [("9", "http://t", None), ("", "https://t", None), ("c\n", None, "en"), ("c", "t", None)]
    expected = "expected head, relation and tail parted by tabs, found"
    assert read.rejects == [
        (11, f"{expected} 1 column"),
        (12, f"{expected} 4 columns"),
        (13, "the head is empty"),
        (14, "the relation is empty"),
        (15, "a literal cannot be the head of a triple"),
        (16, "the tail is empty"),
    ]


CSV = "\n".join(['"a, ""A""",b,"c"', 'a,b,"""c""@en"', 'a,"b" ,c', 'a,b,""', 'a,"b"x,c', ""])


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "kg.csv").write_text(CSV, encoding="utf-8")
    read = read_source(CsvSource(str(tmp_path / "kg.csv"), has_header=False, values="none"))
    assert read.triples == [('a, "A"', "b", "c"), ("a", "b", "c"), ("a", "b", "c")]
    assert read.literals == [("c", None, "en")]
    assert read.rejects == [(4, "the tail is empty"), (5, "a quote is out of place, or does not end")]


def test_names(tmp_path: Path) -> None:
    (tmp_path / "kg.tsv").write_text("m.1\tr\tm.2\n")
    (tmp_path / "names.tsv").write_text("m.1\tLima\tCity_of_Kings\t\tThe City\nm.2\t\nm.3\t\tPeru\n\nm.4\n\tNobody\n")
    read = read_source(TsvSource(str(tmp_path / "kg.tsv"), str(tmp_path / "names.tsv")))
    assert read.names == {"m.1": ["Lima", "City_of_Kings", "The City"], "m.3": ["Peru"]}
    assert read.rejects == [(5, "expected an id and a name parted by a tab, found 1 column"), (6, "the id is empty")]
