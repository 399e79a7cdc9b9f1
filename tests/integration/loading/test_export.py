"""A graph written behind the library's back, exported, and read from the files by what a test says of the formats."""

from __future__ import annotations

import gzip
from pathlib import Path

import neo4j
import pytest
from lodestar.engine.errors import GraphError, UsageError
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection
from lodestar.loaders.export import ExportReport, ExportRequest, export
from lodestar.loaders.formats.freebase import FREEBASE

from tests.made.written_graphs import Literal, Load, Names, Triple, WrittenGraph, of_base_load, stored_id
from tests.property.test_term_laws import read_iri, read_literal, read_node, read_tsv_literal

DATE = "http://www.w3.org/2001/XMLSchema#date"
STRING = "http://www.w3.org/2001/XMLSchema#string"
"""What a plain literal is in RDF; TSV says it, since text in quotes alone is an id there."""

# The same place in the order: a character beyond U+FFFF and one that UTF-16 puts behind it.
ASTRAL, COMPATIBILITY = "\U0001f600", "\uff01"

PLAIN = of_base_load(
    [
        ("m.1", "people.person.parents", "m.2"),
        ("m.2", "people.person.children", "m.1"),
        ("m.1", "people.person.knows", "m.2"),
        ("m.1", "people.person.knows", "m.1"),
        ("m.1", "a.b|c.d", "m.3"),
        ("m.3", "rare", "m.1"),
        ("m.1", "RELATED", "m.2"),
        ("m.1", "rare", "m.2"),
        ("m.1", "people.person.date_of_birth", Literal("1983-01-04", DATE)),
        ("m.1", "people.person.date_of_birth", "m.3"),
        ("m.1", "people.person.motto", Literal("Mine", None, "en")),
        ("m.1", "people.person.motto", Literal("Mine")),
        ("m.1", "people.person.motto", Literal("Mine", None, "de")),
        ("m.3", "people.person.motto", Literal("Mine")),
        ("m.3", "people.person.motto", Literal('"a"\t\\b\n', DATE)),
        ("m.3", "people.person.motto", Literal("x" * 9_000)),
        ("é", "r", ASTRAL),
        ("é", "r", COMPATIBILITY),
        (ASTRAL, "r", "é"),
        (COMPATIBILITY, "r", "é"),
        ("é", f"r{ASTRAL}", "é"),
        ("é", f"r{COMPATIBILITY}", "é"),
        ("é", f"rare{ASTRAL}", "é"),
        ("é", f"rare{COMPATIBILITY}", "é"),
        ("A film: the sequel", "r", "_:b0"),
        ("A film: the sequel", "theme", '"Sunny"'),
        ("_:b0", "r", "_:b.0 "),
        ("http://e.x/a", "http://e.x/r", "mailto:a@e.x"),
    ]
)
HOSTILE = of_base_load(
    [
        ("tab\there", "line\nend", "return\rhere"),
        ("` }) DETACH DELETE n //", "`quoted` <x>", '"a literal"@en'),
        ("a^^http://e.x/", "r", Literal("", "http://e.x/^^http://e.x/")),
        ("\x01\ufeff\u2028", "r", "\\u0041"),
        (f"{FREEBASE}m.1", f"{FREEBASE}r", "m.1"),
    ]
)
NAMES = {
    "m.1": Names("One", ("Eins", "Uno", "1"), "en de/name es -"),
    "m.2": Names("Two"),
    "A film: the sequel": Names("A film: the sequel"),
    "_:b0": Names("_:b0", ("Blank",)),
    "é": Names("é", (), "fr"),
    "m.4": Names("nobody's", (), "en/alias#2"),
}
RARE = frozenset({"rare", f"rare{ASTRAL}", f"rare{COMPATIBILITY}"})

pytestmark = pytest.mark.usefixtures("empty_graph")


def in_order(triples: list[Triple]) -> list[Triple]:
    return sorted(triples, key=lambda t: (t[0], t[1], isinstance(t[2], Literal), stored_id(t[2])))


def exported(gateway: Gateway, path: Path, **options: object) -> ExportReport:
    return export(ExportRequest(str(path), **options), gateway)


def content(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.name.endswith(".gz") else data).decode()


def tsv_triples(path: Path) -> list[Triple]:
    found: list[Triple] = []
    for line in content(path).split("\n")[:-1]:
        head, relation, tail = line.split("\t")
        found.append((head, relation, tail))
        if literal := read_tsv_literal(tail):
            value, datatype, language = literal
            found[-1] = (head, relation, Literal(value, None if datatype == STRING else datatype, language))
    return found


def ntriples(path: Path, base: str = FREEBASE) -> list[Triple]:
    found: list[Triple] = []
    for line in content(path).split("\n")[:-1]:
        head, relation, tail, stop = line.split("\t")
        assert stop == "."
        read = Literal(*read_literal(tail)) if tail.startswith('"') else read_node(tail, base)
        found.append((read_node(head, base), read_iri(relation).removeprefix(base), read))
    return found


def is_name(triple: Triple) -> bool:
    return triple[1].removeprefix(FREEBASE) in ("type.object.name", "common.topic.alias")


def test_every_format_has_every_triple_in_order(gateway: Gateway, driver: neo4j.Driver, tmp_path: Path) -> None:
    WrittenGraph(PLAIN, NAMES, RARE).write(driver)
    expected = in_order(list(PLAIN))
    report = exported(gateway, tmp_path / "kg.tsv.gz")
    assert tsv_triples(tmp_path / "kg.tsv.gz") == expected
    assert (report.format, report.num_triples) == ("tsv", len(PLAIN))
    exported(gateway, tmp_path / "kg.nt")
    assert [triple for triple in ntriples(tmp_path / "kg.nt") if not is_name(triple)] == expected
    for name in ("kg.tsv.gz", "kg.nt"):
        exported(gateway, tmp_path / f"again-{name}")
        assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_hostile_characters_survive_where_the_format_can_say_them(
    gateway: Gateway, driver: neo4j.Driver, tmp_path: Path
) -> None:
    WrittenGraph({**PLAIN, **HOSTILE}, NAMES, RARE).write(driver)
    expected = in_order([*PLAIN, *HOSTILE])
    exported(gateway, tmp_path / "kg.nt.gz", base="urn:kg:")
    read = ntriples(tmp_path / "kg.nt.gz", "urn:kg:")
    assert [triple for triple in read if not is_name(triple)] == expected


def test_one_load_is_exported_by_its_number(gateway: Gateway, driver: neo4j.Driver, tmp_path: Path) -> None:
    triples: dict[Triple, tuple[int, ...]] = {
        ("m.1", "r", "m.2"): (),
        ("m.1", "r", "m.3"): (1, 2),
        ("m.1", "r", "m.4"): (2, 3),
    }
    names = {"m.1": Names("One", ("Uno", "Eins"), "- es#1+2 de#3")}
    loads = [Load(1, num_triples=2), Load(2, num_triples=2), Load(3, is_finished=False)]
    WrittenGraph(triples, names, loads=loads).write(driver)
    for number, tails, aliases in ((1, "23", "One\tUno"), (2, "34", "Uno")):
        path, names_path = tmp_path / f"{number}.tsv", tmp_path / f"{number}-names.tsv"
        exported(gateway, path, names_path=str(names_path), load=number)
        assert [tail for _, _, tail in tsv_triples(path)] == [f"m.{tail}" for tail in tails]
        assert content(names_path) == f"m.1\t{aliases}\n"
    for number in (3, 4):
        with pytest.raises(UsageError, match=rf"expected the number of a finished load \(1, 2\), found {number}"):
            exported(gateway, tmp_path / "kg.tsv", load=number)
    with pytest.raises(GraphError, match="did not finish: run it again, or export one that did finish with --load"):
        exported(gateway, tmp_path / "kg.tsv")
    assert not (tmp_path / "kg.tsv").exists()


@pytest.mark.long
def test_a_hub_of_twenty_thousand_triples(gateway: Gateway, driver: neo4j.Driver, tmp_path: Path) -> None:
    triples: list[Triple] = [("hub", f"r{i % 3}", f"m.{i}") for i in range(20_000)]
    triples += [("hub", "r1", Literal(str(i))) for i in range(500)]
    triples += [("m.7", "r0", "hub"), ("a", "r0", "hub"), ("z", "r0", "hub"), ("hub", "r0", "hub")]
    WrittenGraph(of_base_load(triples), lone=["nothing.known"]).write(driver)
    exported(gateway, tmp_path / "kg.tsv")
    assert tsv_triples(tmp_path / "kg.tsv") == in_order(triples)


def test_neo4js_order_of_ids_is_that_of_code_points(driver: neo4j.Driver, connection: Connection) -> None:
    """Of stored strings, that is: names of relationship types and parameters it compares by UTF-16 units."""
    ends = ["", "a", "é", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "中", "\ufffd!"]
    ids = [start * n + end for n in (0, 1, 9, 28, 127, 1_000) for start in "xé中😀" for end in ends]
    ids = list(dict.fromkeys(filter(None, ids)))
    WrittenGraph(of_base_load([("x", "r", id_) for id_ in reversed(ids)]), lone=ids).write(driver)
    with driver.session(database=connection.database) as session:
        by_index = session.run("MATCH (e:Entity) WHERE e.id IS NOT NULL RETURN e.id AS id ORDER BY id").value()
        sorted_ = session.run("MATCH (h:Entity {id: 'x'})-[:r]->(e) RETURN e.id AS id ORDER BY h, id").value()
    assert by_index == sorted_ == sorted(ids)
