"""Single triples added and removed: the graph is as if it had been loaded so, at once, whole or not at all."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date
from typing import Any

import neo4j
import pytest
from lodestar import Engine, LiteralValue
from lodestar.engine.errors import EntityNotFoundError, GraphError, InputError, LoadInProgressError, UsageError
from lodestar.engine.neo4j import Request
from lodestar.engine.neo4j.catalogue import read_loads
from lodestar.engine.neo4j.gateway import Gateway, OpenTransaction
from lodestar.engine.settings import Connection, Settings
from lodestar.engine.writing import changing
from lodestar.loaders.loading import load_lock
from lodestar.loaders.maintaining import unload, verify
from lodestar.loaders.source import StatementRow, name_row, triple_row

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
    (of_changes,) = (each for each in gateway.run(read_loads()) if each.source == "changes")
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
    (appended,) = (each for each in gateway.run(read_loads()) if each.number == of_changes.number)
    assert (of_changes.num_triples, of_changes.checksum) == (appended.num_triples, appended.checksum)


def test_a_triple_of_a_load_is_removed_from_it(engine: Engine, gateway: Gateway) -> None:
    engine.add([COUNTRIES[0]])
    engine.remove([COUNTRIES[0]])
    assert faults(engine) == ()
    base, changes = gateway.run(read_loads())
    assert (base.num_triples, base.num_removed, changes.num_triples) == (len(COUNTRIES) - 1, 1, 0)
    source = TripleSource(COUNTRIES, COUNTRY_NAMES)
    assert "1 triple of it was removed since" in str(load(source, gateway))
    load(source, gateway, force=True)
    assert faults(engine) == ()
    base, _ = gateway.run(read_loads())
    assert (base.num_triples, base.num_removed) == (len(COUNTRIES), 0)


CANNOT_BE_ADDED: list[tuple[Any, type[Exception], str]] = [
    ("abc", InputError, "expected triples"),
    (["abc"], InputError, "triple 1: expected (head, relation, tail)"),
    ([("a", "b")], InputError, "triple 1: expected (head, relation, tail)"),
    ([("a", "b", "c"), ("a", None, "c")], InputError, "triple 2: expected an entity's id or name, a relation as text"),
    ([("a", "b", None)], InputError, "triple 1: expected an entity's id or name, a relation as text"),
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
        (("Peru", "mayor", "Lima"), GraphError, "triple 2: the graph has no triple ('Peru', 'mayor', 'Lima')"),
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
    assert engine.remove([COUNTRIES[1]]).num_removed == 1
    assert faults(engine) == ()


def test_a_deadlock_is_tried_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    run, tries = OpenTransaction.run, []

    def fail_once(lock: OpenTransaction, request: Request[Any]) -> Any:
        if request.template.name == "release_load_lock":
            tries.append(lock)
            if len(tries) == 1:
                raise neo4j.exceptions.TransientError("deadlock")
        return run(lock, request)

    monkeypatch.setattr(OpenTransaction, "run", fail_once)
    assert engine.add([MAYOR]).num_added == 1
    assert len(tries) == 2
    assert faults(engine) == ()


WRITER = """
import sys
import threading
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
    monkeypatch.setattr("lodestar.engine.neo4j.gateway.HOLD_WAIT_S", 0.2)
    with load_lock(engine.gateway()), pytest.raises(LoadInProgressError, match="another load is running"):
        engine.add([MAYOR])
    assert engine.add([MAYOR]).num_added == 1


def test_verify_beside_adds_finds_no_fault(engine: Engine, gateway: Gateway) -> None:
    ended = threading.Event()

    def add() -> None:
        for number in range(2_000):
            if ended.is_set():
                return
            engine.add([("m.lima", "mayor", f"m.{number}")])

    adding = threading.Thread(target=add)
    adding.start()
    try:
        found = {fault for _ in range(5) for fault in verify(gateway).faults}
    finally:
        ended.set()
        adding.join()
    assert found <= {"the graph is written to while it is checked: check it again when that has ended"}
    assert verify(gateway).faults == ()
