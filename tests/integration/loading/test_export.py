"""A loaded graph, exported, and read back from the files by the sources of `lodestar load`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import neo4j
import pytest
from lodestar.engine import writing as relation_types
from lodestar.engine.errors import GraphError
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.loaders.export import ExportReport, export
from lodestar.loaders.formats import source_class
from lodestar.loaders.formats.triples import FREEBASE
from lodestar.loaders.source import Source, StatementRow, triple_row

from tests.made.graphs import RowSource, TripleSource, load
from tests.made.plain_graph import write_load
from tests.references.read_source import read_source

DATE = "http://www.w3.org/2001/XMLSchema#date"


class Literal(NamedTuple):
    """The tail of a triple that is no entity."""

    value: str
    datatype: str | None = None
    language: str | None = None


Triple = tuple[str, str, str | Literal]
PLAIN: list[Triple] = [
    ("m.1", "people.person.parents", "m.2"),
    ("m.1", "people.person.knows", "m.1"),
    ("m.1", "a.b|c.d", "m.3"),
    ("m.3", "rare", "m.1"),
    ("m.1", "RELATED", "m.2"),
    ("m.1", "people.person.date_of_birth", Literal("1983-01-04", DATE)),
    ("m.1", "people.person.date_of_birth", "m.3"),
    ("m.1", "people.person.motto", Literal("Mine", None, "en")),
    ("m.1", "people.person.motto", Literal("Mine")),
    ("m.3", "people.person.motto", Literal("Mine")),
    ("m.3", "people.person.motto", Literal('"a"\t\\b\n', DATE)),
    ("m.3", "people.person.motto", Literal("x" * 9_000)),
    ("é", "r", "\U0001f600"),
    ("\U0001f600", "rare", "é"),
    ("A film: the sequel", "r", "_:b0"),
    ("A film: the sequel", "theme", '"Sunny"'),
    ("_:b0", "r", "_:b 0"),
    ("http://e.x/a", "http://e.x/r", "mailto:a@e.x"),
]
HOSTILE: list[Triple] = [
    ("tab\there", "line\nend", "return\rhere"),
    ("` }) DETACH DELETE n //", "`quoted` <x>", '"a literal"@en'),
    ("a^^http://e.x/", "r", Literal("", "http://e.x/^^http://e.x/")),
    ("\x01\ufeff\u2028", "r", "\\u0041"),
    (f"{FREEBASE}m.1", f"{FREEBASE}r", "m.1"),
]
NAMES = [
    StatementRow(1, "name", id_, None, text, None, None, language, tag)
    for id_, text, language, tag in (
        ("m.1", "One", "en", "name"),
        ("m.1", "Eins", "de", "name"),
        ("m.1", "1", None, "alias"),
        ("A film: the sequel", "A film: the sequel", None, "name"),
        ("é", "é", "fr", "name"),
    )
]
FEW_TYPES = 8
"""Some relations have a type of their own and the others none."""

pytestmark = pytest.mark.usefixtures("empty_graph")


def write(gateway: Gateway, triples: Iterable[Triple]) -> None:
    rows = [
        triple_row(1, head, relation, tail)
        if isinstance(tail, str)
        else StatementRow(1, "triple", head, relation, tail.value, True, tail.datatype, tail.language)
        for head, relation, tail in triples
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relation_types, "MAX_TYPES", FEW_TYPES)
        load(RowSource([*rows, *NAMES], languages=("en", "de")), gateway)


def exported(gateway: Gateway, path: Path, **options: object) -> ExportReport:
    return export(gateway, str(path), **options)


def assert_read(source: Source, triples: list[Triple]) -> None:
    """What a source reads is these triples, in the order of their heads and relations."""
    found = read_source(source)
    assert [row[:2] for row in found.triples] == sorted(row[:2] for row in triples)
    assert sorted(found.triples) == sorted((h, r, t.value if isinstance(t, Literal) else t) for h, r, t in triples)
    assert Counter(found.literals) == Counter(tuple(t) for _, _, t in triples if isinstance(t, Literal))


def test_every_format_has_every_triple_in_order(gateway: Gateway, tmp_path: Path) -> None:
    write(gateway, PLAIN)
    report = exported(gateway, tmp_path / "kg.tsv.gz")
    assert_read(source_class("tsv")(str(tmp_path / "kg.tsv.gz"), has_header=False), PLAIN)
    assert (report.format, report.num_triples) == ("tsv", len(PLAIN))
    exported(gateway, tmp_path / "again.tsv.gz")
    assert (tmp_path / "again.tsv.gz").read_bytes() == (tmp_path / "kg.tsv.gz").read_bytes()


def test_hostile_characters_survive_where_the_format_can_say_them(gateway: Gateway, tmp_path: Path) -> None:
    write(gateway, [*PLAIN, *HOSTILE])
    path = tmp_path / "kg.nt.gz"
    exported(gateway, path, base="urn:kg:")
    options = {"bases": ["urn:kg:"], "languages": ["*"], "shared_blank_nodes": True}
    assert_read(source_class("rdf")(str(path), **options), [*PLAIN, *HOSTILE])
    names = read_source(source_class("rdf")(str(path), **options)).names
    assert names["m.1"] == ["One", "Eins", "1"]


def test_half_a_graph_is_not_exported(gateway: Gateway, driver: neo4j.Driver, tmp_path: Path) -> None:
    load(TripleSource([("m.1", "r", "m.2")], {"m.1": "One"}), gateway)
    write_load(driver, "3" * 64, number=3, source="half.tsv", started="2026-01-01T00:00:00Z")
    with pytest.raises(GraphError, match=r"half.tsv, or its deletion, has not finished: wait for it, or run it again"):
        exported(gateway, tmp_path / "kg.tsv")
    assert not (tmp_path / "kg.tsv").exists()
