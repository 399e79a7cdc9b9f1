"""Triples in lines: what each parser reads, what it leaves out, and which tails are values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lodestar.loaders.formats.triples import CsvSource, FreebaseSource, TsvSource
from lodestar.loaders.source import Source, Subset
from lodestar.loaders.stage import Stage, StageCounts

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
    read = read_source(TsvSource(str(tmp_path / "kg.tsv"), has_header=False))
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
    read = read_source(CsvSource(str(tmp_path / "kg.csv"), has_header=False))
    assert read.triples == [('a, "A"', "b", "c"), ("a", "b", "c"), ("a", "b", "c")]
    assert read.literals == [("c", None, "en")]
    assert read.rejects == [(4, "the tail is empty"), (5, "a quote is out of place, or does not end")]


def test_names(tmp_path: Path) -> None:
    (tmp_path / "kg.tsv").write_text("m.1\tr\tm.2\n")
    (tmp_path / "names.tsv").write_text("m.1\tLima\tCity_of_Kings\t\tThe City\nm.2\t\nm.3\t\tPeru\n\nm.4\n\tNobody\n")
    read = read_source(TsvSource(str(tmp_path / "kg.tsv"), str(tmp_path / "names.tsv")))
    assert read.names == {"m.1": ["Lima", "City_of_Kings", "The City"], "m.3": ["Peru"]}
    assert read.rejects == [(5, "expected an id and a name parted by a tab, found 1 column"), (6, "the id is empty")]


TRIPLES = [
    ("e1", "born", "1983-02-01"), ("e1", "height", "1.80"), ("e1", "retired", "no"), ("e1", "motto", "Never give up"),
    ("e1", "lives in", "c1"), ("e1", "gender", "female"), ("e1", "office", "m1"), ("m1", "since", "2001"),
    ("2001", "decade", "c1"), ("e1", "likes", "42"), ("e1", "hired", "2016-07-16^^xsd:date"),
    ("e1", "left", '"2017-01-01"^^xsd:date'), ("e1", "back", "2018^^<http://www.w3.org/2001/XMLSchema#gYear>"),
]  # fmt: skip
NAMES = [("e1", "Ann Alder"), ("c1", "Lima"), ("42", "The Answer")]
VALUES = {"1983-02-01", "1.80", "no", "Never give up"}
TYPED = {"2016-07-16", "2017-01-01", "2018"}


def tsv(folder: Path) -> Source:
    (folder / "kg.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES), encoding="utf-8")
    (folder / "names.tsv").write_text("".join("\t".join(row) + "\n" for row in NAMES), encoding="utf-8")
    return TsvSource(str(folder / "kg.tsv"), str(folder / "names.tsv"))


def staged(source: Source, folder: Path) -> tuple[StageCounts, dict[str, str | None], set[str]]:
    """Return the counts, the literals with their datatypes, and the entities."""
    with Stage(folder / "stage") as stage:
        counts = stage.fill(source, subset=Subset(), max_rejects=0, rejects_file=None)
        literals = {row["value"]: row["datatype"] for row in rows(stage, "results/literal_rows")}
        entities = {row["id"] for row in rows(stage, "results/entity_rows")}
        stage.delete()
    return counts, literals, entities


def rows(stage: Stage, name: str) -> Iterator[dict[str, Any]]:
    for batch in stage.node_rows(name, 100):
        yield from batch.to_pylist()


def test_values_are_literals_beside_names(tmp_path: Path) -> None:
    counts, literals, entities = staged(tsv(tmp_path), tmp_path)
    assert set(literals) == VALUES | TYPED
    assert {literals[value] for value in VALUES} == {None}
    assert literals["2016-07-16"] == literals["2017-01-01"] == "http://www.w3.org/2001/XMLSchema#date"
    assert literals["2018"] == "http://www.w3.org/2001/XMLSchema#gYear"
    assert entities == {"e1", "c1", "m1", "2001", "42", "female"}, "a head, or what has a name, is no value"
    assert (counts.num_values, counts.num_triples) == (len(VALUES), len(TRIPLES))
    assert counts.num_unnamed == 3


def test_ids_that_are_written_like_values_stay_ids(tmp_path: Path) -> None:
    (tmp_path / "kg.tsv").write_text("1\tr\t2\n2\tr\t77\n1\tsays\tA long day\n", encoding="utf-8")
    (tmp_path / "names.tsv").write_text("1\tAnn\n2\tBob\n", encoding="utf-8")
    _, literals, entities = staged(TsvSource(str(tmp_path / "kg.tsv"), str(tmp_path / "names.tsv")), tmp_path)
    assert (set(literals), entities) == ({"A long day"}, {"1", "2", "77"})
