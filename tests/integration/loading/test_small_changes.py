"""Single triples added and removed: the graph is as if it had been loaded so, at once, whole or not at all."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any, cast

import neo4j
import pytest
from lodestar import Engine, Entity, LiteralValue
from lodestar.engine.errors import (
    DatabaseError,
    EntityNotFoundError,
    GraphError,
    InputError,
    LoadInProgressError,
    UsageError,
)
from lodestar.engine.neo4j.catalogue import Catalogue, read_catalogue, read_graph_revision, read_loads
from lodestar.engine.neo4j.connection import Connection
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.load_lock import OpenTransaction
from lodestar.engine.neo4j.templates import Request
from lodestar.engine.relations.words import find_end_kinds
from lodestar.engine.settings import Settings
from lodestar.engine.writing import changing, lookup
from lodestar.engine.writing.names import Name
from lodestar.loaders.formats.ntriples import NtriplesSource
from lodestar.loaders.loads.adding_lines import add_lines
from lodestar.loaders.loads.loading import load_lock
from lodestar.loaders.loads.unloading import unload
from lodestar.loaders.loads.verifying import verify
from lodestar.loaders.rows import StatementRow, name_row, triple_row

from tests.conftest import clear_database
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, RowSource, TripleSource, load
from tests.references.snapshot import snapshot

MAYOR = ("m.lima", "mayor", "m.ana")
NAMES = {"m.ana": ["Ana", "Anita"]}
BORN = ("m.ana", "born", date(1961, 5, 5))
XSD_DATE = "http://www.w3.org/2001/XMLSchema#date"


@pytest.fixture
def graph(driver: neo4j.Driver, connection: Connection, gateway: Gateway) -> None:
    clear_database(driver, connection.database)
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)


@pytest.fixture
def engine(graph: None, settings: Settings) -> Iterator[Engine]:
    with Engine(settings) as engine:
        yield engine


@pytest.fixture
def other(graph: None, settings: Settings) -> Iterator[Engine]:
    with Engine(settings) as engine:
        yield engine


def contents(driver: neo4j.Driver) -> tuple[object, object]:
    """All nodes but manifests, without kinds, which every load finds anew, and all relationships."""
    found = snapshot(driver)
    nodes = {node: number for node, number in found.nodes.items() if "(['Load']" not in node}
    return {node.split("('head_kind'")[0]: number for node, number in nodes.items()}, found.relationships


def faults(engine: Engine) -> tuple[str, ...]:
    return verify(engine.gateway()).faults


def test_the_graph_is_the_same_as_after_a_load_that_appends(
    engine: Engine, driver: neo4j.Driver, gateway: Gateway
) -> None:
    before = contents(driver)
    peru = COUNTRIES[0]
    report = engine.add([MAYOR, BORN, peru], names=NAMES)
    assert (report.num_added, report.num_known, report.num_names) == (2, 1, 2)
    assert (report.new_entities, report.new_relations) == (("m.ana",), ("born", "mayor"))
    added = contents(driver)
    assert faults(engine) == ()
    (of_changes,) = (each for each in gateway.fetch(read_loads()) if each.source == "changes")
    unload(gateway, "changes")
    assert contents(driver) == before
    rows = [
        triple_row(1, *MAYOR),
        StatementRow(2, "triple", "m.ana", "born", "1961-05-05", True, XSD_DATE),
        triple_row(3, *peru),
        *(name_row(4, "m.ana", name) for name in NAMES["m.ana"]),
    ]
    load(RowSource(rows), gateway, mode="append")
    assert contents(driver) == added
    (appended,) = (each for each in gateway.fetch(read_loads()) if each.number == of_changes.number)
    assert (of_changes.num_triples, of_changes.checksum) == (appended.num_triples, appended.checksum)


LINES = """\
<m.ana> <mayor.of> <m.lima> .
<m.ana> <http://www.w3.org/2004/02/skos/core#altLabel> "Anita"@en .
<m.ana> <http://www.w3.org/2000/01/rdf-schema#label> "Ana Rosas"@es .
<m.ana> <http://www.w3.org/2000/01/rdf-schema#label> "Ana Roses"@en .
<m.ana> <http://www.w3.org/2000/01/rdf-schema#label> "Ана"@ru .
<m.ana> <motto> "Adelante"@es .
"""


def test_lines_keep_the_languages_of_names_as_a_load_does(
    engine: Engine, driver: neo4j.Driver, gateway: Gateway, tmp_path: Path
) -> None:
    (tmp_path / "few.nt").write_text(LINES, encoding="utf-8")
    source = NtriplesSource(str(tmp_path / "few.nt"), languages=["en", "es"])
    assert add_lines(source, gateway).num_names == 3
    (names,) = driver.execute_query("MATCH (e {id: 'm.ana'}) RETURN e.name, e.aliases, e.name_tags").records
    assert tuple(names) == ("Ana Roses", ["Ana Rosas", "Anita"], "en#2 es/name#2 en#2")
    added = contents(driver)
    unload(gateway, "changes")
    load(source, gateway, mode="append")
    assert contents(driver) == added


def test_a_name_has_a_language_from_python(engine: Engine, driver: neo4j.Driver) -> None:
    engine.add([MAYOR], names={"m.ana": ["Ana", Name("Ана", "ru", is_alias=True)]})
    (names,) = driver.execute_query("MATCH (e {id: 'm.ana'}) RETURN e.name, e.aliases, e.name_tags").records
    assert tuple(names) == ("Ana", ["Ана"], "#2 ru#2")
    with pytest.raises(InputError, match="expected a language as en or pt-br for the name 'Ana', found 'in Peru'"):
        engine.add([MAYOR], names={"m.ana": Name("Ana", "in Peru")})


def test_what_is_added_and_removed_leaves_no_trace(engine: Engine, driver: neo4j.Driver) -> None:
    before = contents(driver)
    engine.add([MAYOR, BORN], names=NAMES)
    report = engine.remove([("Ana", "born", "1961-05-05"), ("Lima", "mayor", "Ana")])
    assert (report.num_removed, report.removed_entities) == (2, ("m.ana",))
    assert set(report.removed_relations) == {"born", "mayor"}
    assert "Load2" in str(contents(driver)[0])  # lima keeps the mark of the load of changes
    unload(engine.gateway(), "changes")
    assert contents(driver) == before


def test_a_triple_of_a_load_is_removed_from_it(engine: Engine, gateway: Gateway) -> None:
    engine.add([COUNTRIES[0]])
    engine.remove([COUNTRIES[0]])
    assert faults(engine) == ()
    base, changes = gateway.fetch(read_loads())
    assert (base.num_triples, base.num_removed, changes.num_triples) == (len(COUNTRIES) - 1, 1, 0)
    source = TripleSource(COUNTRIES, COUNTRY_NAMES)
    assert "1 triple of it was removed since" in str(load(source, gateway))
    load(source, gateway, force=True)
    assert faults(engine) == ()
    base, _ = gateway.fetch(read_loads())
    assert (base.num_triples, base.num_removed) == (len(COUNTRIES), 0)


def test_the_next_question_of_every_engine_sees_it(engine: Engine, other: Engine) -> None:
    question = "Who is the mayor of Lima?"
    assert "Ana" not in other.ask(question).text
    engine.add([("Lima", "mayor", "Ana")])
    assert other.ask(question).text == engine.ask(question).text == "Ana"
    engine.add([("Lima", "mayor", "Berta")])
    engine.remove([("Lima", "mayor", "Ana")])
    assert other.ask(question).text == engine.ask(question).text == "Berta"


def test_every_change_has_an_edition_of_its_own(engine: Engine, gateway: Gateway) -> None:
    editions = [gateway.fetch(read_graph_revision())]
    for change in (engine.add, engine.remove, engine.add):
        change([("m.chile", "location.country.capital", "m.lima")])
        editions.append(gateway.fetch(read_graph_revision()))
    assert len(set(editions)) == len(editions)
    engine.add([("m.chile", "location.country.capital", "m.lima")])
    assert gateway.fetch(read_graph_revision()) == editions[-1]  # it was there


def test_names_and_labels_mean_what_has_them(engine: Engine, driver: neo4j.Driver) -> None:
    engine.add([("Chile", "capital", Entity("m.valparaiso", "Valparaíso"))], names={"Chile": "Republic of Chile"})
    found = driver.execute_query(
        "MATCH (h {id: 'm.chile'})-[r:`location.country.capital`]->(t) WHERE r.loads = [2] "
        "RETURN t.id, t.name, h.name, h.aliases"
    ).records
    assert [tuple(record) for record in found] == [("m.valparaiso", "Valparaíso", "Chile", ["Republic of Chile"])]
    assert faults(engine) == ()


def test_an_iri_and_an_id_of_freebase_are_no_names(engine: Engine, driver: neo4j.Driver) -> None:
    engine.add([("http://a/b", "r", "m.0abc"), ("Callao", "r", "_:x")])
    found = driver.execute_query("MATCH (e)-[:r]-() RETURN e.id, e.name ORDER BY e.id").records
    assert [tuple(record) for record in found] == [
        ("Callao", "Callao"),
        ("_:x", None),
        ("http://a/b", None),
        ("m.0abc", None),
    ]


def test_a_graph_can_begin_with_a_change(new_database: None, settings: Settings, driver: neo4j.Driver) -> None:
    with Engine(settings) as engine:
        engine.add([("Lima", "mayor", "Ana"), ("Ana", "born", 1961)])
        assert engine.ask("Who is the mayor of Lima?").text == "Ana"
        assert faults(engine) == ()
        load(TripleSource(COUNTRIES, COUNTRY_NAMES), engine.gateway(), mode="append")
        engine.add([("Cusco", "mayor", "Bea")])
        assert faults(engine) == ()


CANNOT_BE_ADDED: list[tuple[Any, type[Exception], str]] = [
    ("abc", InputError, "expected triples"),
    (["abc"], InputError, "triple 1: expected (head, relation, tail)"),
    ([("a", "b")], InputError, "triple 1: expected (head, relation, tail)"),
    ([("a", "b", "c"), ("a", None, "c")], InputError, "triple 2: expected a relation as text"),
    ([("a", "b", None)], InputError, "triple 1: expected an entity's id or name, or a value, found 'None'"),
    ([(1, "b", "c")], InputError, "a literal is never a head"),
    ([("", "b", "c")], InputError, "triple 1: an id is empty"),
    ([("a", "", "c")], InputError, "triple 1: the relation is empty"),
    ([("a", "b", "x" * 8_001)], InputError, "an id is longer than 8,000 bytes"),
    ([("a", "b", "\ud800")], InputError, "an id is not UTF-8 text"),
    ([("a", "b\\u0041", "c")], InputError, "the relation has a zero byte or"),
    ([("a", "b", LiteralValue("x", "no iri"))], InputError, "a literal has an IRI as datatype"),
    ([("a", "b", LiteralValue("x\0"))], InputError, "a literal has a zero byte in it"),
    ([("a", "b", "c")] * 100_001, UsageError, "expected at most 100,000 triples in one change"),
    ([("Twin", "r", "c")], UsageError, "several entities are called 'Twin': give the id of one of 't.1', 't.2'"),
    ([("a", "same", "c")], UsageError, "several relations are called 'same'"),
]


def test_what_cannot_be_added_changes_nothing(graph: None, gateway: Gateway, driver: neo4j.Driver) -> None:
    twins = TripleSource([("t.1", "x.same", "t.2"), ("t.1", "y.same", "t.2")], {"t.1": "Twin", "t.2": "Twin"})
    load(twins, gateway, mode="append")
    before = snapshot(driver)
    for triples, error, message in CANNOT_BE_ADDED:
        with pytest.raises(error, match=re.escape(message)):
            changing.add_triples(gateway, triples)
        assert snapshot(driver) == before, message


@pytest.mark.parametrize(
    ("triple", "error", "message"),
    [
        (("Cusco", "mayor", "Ana"), EntityNotFoundError, "triple 2: no entity is 'Cusco': nothing was removed"),
        (
            ("Peru", "mayor", "Lima"),
            GraphError,
            "triple 2: the graph has no triple ('Peru', 'mayor', 'Lima')",
        ),
        (("Peru", "location.country.capital", "Chile"), GraphError, "triple 2: the graph has no triple"),
    ],
)
def test_what_is_not_there_is_not_removed(
    engine: Engine, driver: neo4j.Driver, triple: tuple[str, str, str], error: type[Exception], message: str
) -> None:
    before = contents(driver)
    with pytest.raises(error) as found:
        engine.remove([COUNTRIES[1], triple])
    assert message in str(found.value)
    assert contents(driver) == before
    report = engine.remove([COUNTRIES[1], triple], missing_ok=True)
    assert (report.num_removed, report.num_missing) == (1, 1)
    assert faults(engine) == ()


def test_one_of_two_of_a_name_is_told_by_its_triple(engine: Engine) -> None:
    engine.add([("t.1", "r", "t.3"), ("t.2", "s", "t.3")], names={"t.1": "Twin", "t.2": "Twin"})
    with pytest.raises(UsageError, match="several entities are called 'Twin'"):
        engine.add([("Twin", "r", "t.3")])
    assert engine.remove([("Twin", "r", "t.3")]).num_removed == 1
    engine.add([("t.1", "r", "t.3"), ("t.2", "r", "t.3")], names={"t.1": "Twin"})
    with pytest.raises(UsageError, match="triple 1: several triples fit"):
        engine.remove([("Twin", "r", "t.3")])


@pytest.mark.parametrize("name", ["", " ", "x" * 8_001, "a\0b"])
def test_a_name_that_cannot_be_one_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(InputError, match="expected a name of at most 8,000 bytes"):
        engine.add([MAYOR], names={"m.ana": name})


def test_a_name_for_nobody_is_refused(engine: Engine) -> None:
    with pytest.raises(EntityNotFoundError, match=r"no entity 'm\.zoe' to name"):
        engine.add([MAYOR], names={"m.zoe": "Zoe"})


def test_many_triples_go_in_several_requests_and_one_transaction(
    engine: Engine, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup.send_batches, "__defaults__", (3,))
    triples = [(f"e{i % 7}", f"r{i % 2}", f"e{i}") for i in range(20)]
    assert engine.add(triples).num_added == 20
    assert faults(engine) == ()
    before = contents(driver)
    monkeypatch.setattr(OpenTransaction, "commit", lambda _: pytest.fail("the process ends here"))
    with pytest.raises(pytest.fail.Exception):
        engine.remove(triples)
    assert contents(driver) == before


def test_a_fault_of_the_database_in_the_middle_changes_nothing(
    engine: Engine, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(driver)
    monkeypatch.setattr(changing, "_change_load", lambda load, *_: {"sha256": load.sha256, "x": {"no": "value"}})
    with pytest.raises(DatabaseError):
        engine.add([MAYOR])
    assert contents(driver) == before


def test_a_deadlock_is_tried_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, tries = OpenTransaction.commit, []

    def fail_once(hold: OpenTransaction) -> None:
        tries.append(hold)
        if len(tries) == 1:
            raise neo4j.exceptions.TransientError("deadlock")
        commit(hold)

    monkeypatch.setattr(OpenTransaction, "commit", fail_once)
    assert engine.add([MAYOR]).num_added == 1
    assert len(tries) == 2
    assert faults(engine) == ()


def test_the_same_with_asyncio(graph: None, settings: Settings) -> None:
    async def change() -> str:
        async with Engine(settings) as engine:
            await asyncio.gather(*(engine.aadd([("Lima", "mayor", name)]) for name in ("Ana", "Berta", "Cleo")))
            await engine.aremove([("Lima", "mayor", "Ana"), ("Lima", "mayor", "Cleo")])
            assert faults(engine) == ()
            return (await engine.aask("Who is the mayor of Lima?")).text

    assert asyncio.run(change()) == "Berta"


def test_writers_at_the_same_time_lose_nothing(engine: Engine, other: Engine, gateway: Gateway) -> None:
    def write(number: int) -> None:
        writer = engine if number % 2 else other
        writer.add([("Lima", f"mayor {number % 3}", f"Ana {number}"), ("Lima", "mayor", "Ana")])
        if number % 4 == 0:
            writer.remove([("Lima", f"mayor {number % 3}", f"Ana {number}")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(12)))
    assert faults(engine) == ()
    counts = {relation.name: relation.count for relation in gateway.fetch(read_catalogue()).relations}
    assert sum(counts[f"mayor {number}"] for number in range(3)) == 9
    assert counts["mayor"] == 1


def test_a_relation_that_another_writer_adds_while_kinds_are_found_is_left_to_it(
    engine: Engine, gateway: Gateway
) -> None:
    engine.add([("Lima", "mayor", "Ana")])
    before = gateway.fetch(read_catalogue())
    engine.add([("Lima", "twinned with", "Cusco")])

    class ReadBefore:
        def fetch(self, request: Request[Any]) -> Any:
            found = gateway.fetch(request)
            return before if isinstance(found, Catalogue) else found

    kinds = find_end_kinds(cast(Gateway, ReadBefore()))
    assert kinds.keys() == {relation.name for relation in before.relations}
    assert "twinned with" not in kinds


WRITER = """
import sys
from lodestar import Engine

number = int(sys.argv[1])
with Engine() as engine:
    for change in range(10):
        triple = ("Lima", f"mayor {change % 3}", f"Ana {number} {change}")
        engine.add([triple, ("Lima", "mayor", "Ana"), ("Lima", f"mayor {change}", "Ana")])
        if change % 2:
            engine.remove([triple])
"""


@pytest.mark.long
def test_processes_that_write_at_the_same_time_lose_nothing(
    graph: None, gateway: Gateway, driver: neo4j.Driver, environment: dict[str, str]
) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(number)], env=environment, stderr=subprocess.PIPE, text=True
        )
        for number in range(3)
    ]
    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [("", 0)] * 3
    assert verify(gateway).faults == ()
    found = driver.execute_query("MATCH ({name: 'Lima'})-[r]->(a) WHERE type(r) STARTS WITH 'mayor' RETURN a.name")
    expected = [f"Ana {number} {change}" for number in range(3) for change in range(0, 10, 2)]
    assert sorted(record[0] for record in found.records) == sorted([*expected, *["Ana"] * 11])


def test_a_change_waits_for_a_load_and_is_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gateway.hold_transaction.__wrapped__, "__defaults__", (0.2,))  # type: ignore[attr-defined]
    with load_lock(engine.gateway()), pytest.raises(LoadInProgressError, match="another load is running"):
        engine.add([MAYOR])
    assert engine.add([MAYOR]).num_added == 1
