"""The online writer against a real Neo4j: the graph is the source, whatever was there, whatever went wrong and whoever else uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

import neo4j
import pytest
from lodestar.engine.errors import DatabaseError, GraphError, InputError, UsageError
from lodestar.engine.neo4j import Request
from lodestar.engine.neo4j.catalogue import count_signature_mismatches, read_catalogue, read_graph_state, read_loads
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.writing import count_relation_triples
from lodestar.loaders.formats.triples import TsvSource
from lodestar.loaders.loading import LoadOptions, LoadPlan, Mode, choose_writer
from lodestar.loaders.maintaining import unload, verify
from lodestar.loaders.stage import StageCounts

from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.references.snapshot import snapshot

T = TypeVar("T")
Triples = Sequence[tuple[str, str, str]]

HOSTILE: Triples = (
    ("a", "r", "b"), ("a", "s", "b"), ("b", "r", "a"), ("a", "r", "a"), ("a", "R", "b"), (" a ", " r ", "\u200b"),
    ("x'}) DETACH DELETE n //", "`]->() MATCH (n) DETACH DELETE n //", 'y"'), ("$id", "{{RELATION}}", "`"),
    ("\\", "\\'", "'"), ("né", "ne\u0301", "ne\u0301"), ("🜨", "首都", "\x1b[31m"),
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("empty_graph")


def triples_of(driver: neo4j.Driver) -> list[tuple[str, str, str]]:
    records = driver.execute_query("MATCH (h:Entity)-[r]->(t:Entity) RETURN h.id, type(r), t.id").records
    return sorted((head, relation, tail) for head, relation, tail in records)


class InterruptedLoadError(Exception):
    """Stands for a kill."""


class FragileGateway(Gateway):
    """Dies before its `calls`-th request."""

    calls = 0

    def run(self, request: Request[T]) -> T:
        self._count()
        return super().run(request)

    def execute(self, request: Request[T]) -> T:
        self._count()
        return super().execute(request)

    def _count(self) -> None:
        self.calls -= 1
        if self.calls < 0:
            raise InterruptedLoadError


def deaths(
    gateway: Gateway, prepare: Callable[[], object], work: Callable[[Gateway], object], apart: int
) -> Iterator[int]:
    """Yield the number of each request, `apart` from the last, before which the prepared work died."""
    with FragileGateway(gateway.connection) as fragile:
        for died in count(0, apart):
            prepare()
            fragile.calls = died
            try:
                work(fragile)
                break
            except InterruptedLoadError:
                yield died
    assert died > 10


@pytest.mark.usefixtures("new_database")
def test_hostile_strings_parallel_edges_and_self_loops_survive(gateway: Gateway, driver: neo4j.Driver) -> None:
    names = {"a": "Robert'); DROP--", "$id": "`$name`", "b": "$id"}
    report = load(TripleSource([*HOSTILE, *HOSTILE[:3]], names), gateway)
    assert triples_of(driver) == sorted(HOSTILE)
    assert (report.num_triples, report.num_duplicates) == (len(HOSTILE), 3)
    stored = driver.execute_query("MATCH (e:Entity) WHERE e.name IS NOT NULL RETURN e.id, e.name").records
    assert {id_: name for id_, name in stored} == names  # noqa: C416
    assert gateway.run(count_signature_mismatches()) == 0


def test_the_same_load_again_does_nothing(gateway: Gateway, driver: neo4j.Driver) -> None:
    source = TripleSource(COUNTRIES, COUNTRY_NAMES)
    first = load(source, gateway)
    before = snapshot(driver)
    again = load(source, gateway)
    assert (first.already_loaded, again.already_loaded) == (False, True)
    assert again.num_triples == first.num_triples == len(COUNTRIES)
    assert snapshot(driver) == before
    assert not load(source, gateway, force=True).already_loaded
    assert snapshot(driver) == before


@pytest.mark.usefixtures("new_database")
@pytest.mark.parametrize(
    ("mode", "batch_size", "apart"),
    [("new", 9, 25)]
    + [pytest.param(*each, 1, marks=pytest.mark.long) for each in (("new", 9), ("append", 1_000), ("replace", 1_000))],
)
def test_a_load_that_died_anywhere_is_repaired_by_the_same_load(
    gateway: Gateway, driver: neo4j.Driver, mode: Mode, batch_size: int, apart: int
) -> None:
    first = TripleSource([("m.peru", "location.country.capital", "m.lima"), ("a", "r", "b")], {"a": "A", "b": "Bee"})
    source = TripleSource([*COUNTRIES, *HOSTILE], COUNTRY_NAMES)

    def prepared() -> None:
        driver.execute_query("MATCH (n) DETACH DELETE n")
        if mode != "new":
            load(first, gateway)

    prepared()
    load(source, gateway, mode=mode, batch_size=batch_size)
    undisturbed = snapshot(driver)
    for died in deaths(
        gateway, prepared, lambda fragile: load(source, fragile, mode=mode, batch_size=batch_size), apart
    ):
        state = gateway.run(read_graph_state())
        assert state.num_finished_loads <= (mode != "new")
        if mode == "new":
            with pytest.raises(GraphError):
                state.check()
        load(source, gateway, mode=mode, batch_size=batch_size)
        assert snapshot(driver) == undisturbed, f"died before request {died}"
    assert gateway.run(read_graph_state()).unfinished_loads == ()


@pytest.mark.long
def test_a_deletion_that_died_anywhere_is_finished_by_the_same_one(gateway: Gateway, driver: neo4j.Driver) -> None:
    more = TripleSource([("m.peru", "location.country.capital", "m.lima"), ("a", "r", "b")], {"m.peru": "Perú"})
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)
    before = snapshot(driver)
    for died in deaths(gateway, lambda: load(more, gateway, mode="append"), lambda fragile: unload(fragile, "2"), 6):
        if 2 in {manifest.number for manifest in gateway.run(read_loads())}:
            unload(gateway, "2")
        assert snapshot(driver) == before, f"died before request {died}"
    assert snapshot(driver) == before


def test_what_the_graph_holds_is_never_guessed_at(gateway: Gateway) -> None:
    load(TripleSource(COUNTRIES), gateway)
    other = TripleSource([("a", "r", "b")])
    with pytest.raises(UsageError, match="the graph holds 13 triples of test triples: give --append"):
        load(other, gateway)
    load(TripleSource([("c", "r", "d")], name="more"), gateway, mode="append")
    with pytest.raises(UsageError, match="the graph holds 14 triples of test triples, more: give"):
        load(other, gateway)
    with pytest.raises(UsageError, match="--writer bulk works on the files of an embedded server"):
        load(other, gateway, writer="bulk")
    load(other, gateway, mode="replace")
    assert gateway.run(read_graph_state()).num_triples == 1
    with pytest.raises(GraphError, match=r"the graph has no load '7': give the number of one of 1 \(test triples\)"):
        unload(gateway, "7")


@pytest.mark.long  # a third of a minute
def test_a_hub_of_many_relations_is_replaced_whole(gateway: Gateway, driver: neo4j.Driver) -> None:
    """For each that it deletes Neo4j visits the others, too many for its memory in one transaction."""
    load(TripleSource([("hub", f"r{number}", f"t{number % 999}") for number in range(4_000)]), gateway)
    load(TripleSource(COUNTRIES), gateway, mode="replace")
    assert triples_of(driver) == sorted(COUNTRIES)
    assert verify(gateway).faults == ()


def test_a_load_whose_lock_was_lost_is_not_finished(gateway: Gateway, driver: neo4j.Driver) -> None:
    def lose(phase: str, done: int, total: int) -> None:
        if phase == "entities":
            driver.execute_query(
                "SHOW TRANSACTIONS YIELD transactionId AS id, metaData WHERE metaData.query = 'hold_load_lock' "
                "TERMINATE TRANSACTIONS id YIELD message RETURN message"
            )

    with pytest.raises(DatabaseError, match="this load lost its connection"):
        load(TripleSource(COUNTRIES), gateway, progress=lose)
    assert gateway.run(read_graph_state()).unfinished_loads == ("test triples",)
    load(TripleSource(COUNTRIES), gateway)
    gateway.run(read_graph_state()).check()


def test_verify_names_what_is_wrong(gateway: Gateway, driver: neo4j.Driver) -> None:
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)
    assert verify(gateway).faults == ()
    driver.execute_query(
        "MATCH (:Entity {id: 'm.peru'})-[r:`location.country.capital`]->() DELETE r "
        "WITH 1 AS one MATCH (a:Entity {id: 'm.peru'}), (b:Entity {id: 'm.sol'}) CREATE (a)-[:`location.country.capital`]->(b)"
    )
    assert verify(gateway).faults == (
        "2 entities have a relation signature that disagrees with their triples",
        "load 1 (test triples) has as many triples as its manifest says, but not the same ones",
    )
    driver.execute_query("MATCH (:Entity {id: 'm.peru'})-[r:`location.country.capital`]->() DELETE r")
    assert "the catalogue says 2 triples of location.country.capital, the graph has 1" in verify(gateway).faults
    assert "load 1 (test triples) has 12 triples in the graph, its manifest says 13" in verify(gateway).faults


def test_a_fault_changes_nothing(gateway: Gateway, driver: neo4j.Driver, tmp_path: Path) -> None:
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)
    before = snapshot(driver)
    path = tmp_path / "kg.tsv"
    path.write_text("a\tr\tb\n" * 20_000 + "a r b\n")
    with pytest.raises(InputError, match=r"kg\.tsv:20001: "):
        load(TsvSource(str(path)), gateway, mode="append")
    names = tmp_path / "names.tsv"
    names.write_text("a\n")
    path.write_text("a\tr\tb\n")
    with pytest.raises(InputError, match=r"names\.tsv:1: "):
        load(TsvSource(str(path), str(names)), gateway, mode="append")
    assert snapshot(driver) == before


CAPITAL = "location.country.capital"


@pytest.mark.parametrize("mode", ["new", "append", "replace"])
@pytest.mark.parametrize("label", ["Entity", "Literal"])
def test_nodes_that_no_load_wrote_are_not_taken_over(
    gateway: Gateway, driver: neo4j.Driver, mode: Mode, label: str
) -> None:
    driver.execute_query("CREATE (:$($label) {id: 'm.peru', name: 'Mine'})-[:MINE]->(:$($label))", label=label)
    with pytest.raises(UsageError, match=r"2 nodes called Entity or Literal that no load of Lodestar's wrote"):
        load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway, mode=mode)
    (record,) = driver.execute_query("MATCH (n)-[r:MINE]->() RETURN n.name, keys(n)").records
    assert (record[0], set(record[1])) == ("Mine", {"id", "name"})
    assert gateway.run(read_loads()) == ()


def test_a_database_with_other_nodes_is_not_exchanged() -> None:
    counts = StageCounts(1_000_000, 1, 0, 1, 0, 0, 0, 0)
    plan = LoadPlan(1, replaces=True, num_other_nodes=7)
    reason = "the database has 7 nodes that are not Lodestar's, which stay"
    assert choose_writer(LoadOptions(), plan, counts) == ("online", reason)
    with pytest.raises(UsageError, match=r"--writer bulk .* 7 nodes that are not Lodestar's too: load online"):
        choose_writer(LoadOptions(writer="bulk"), plan, counts)


def test_relationships_between_other_nodes_are_no_triples(gateway: Gateway, driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:Person)-[:$($type)]->(:Person), (:Person)-[:mine]->(:Person)", type=CAPITAL)
    load(TripleSource(COUNTRIES), gateway)
    relations = gateway.run(read_catalogue()).relations
    assert {r.name: r.count for r in relations}[CAPITAL] == 2
    driver.execute_query("MATCH (e:Entity {id: 'm.lima'}) CREATE (:Person)-[:$($type)]->(e)", type=CAPITAL)
    assert count_relation_triples(gateway, relations) == {r.name: r.count for r in relations}
    assert verify(gateway).faults == ()
    load(TripleSource([("m.peru", CAPITAL, "m.cusco")]), gateway, mode="append")
    assert {r.name: r.count for r in gateway.run(read_catalogue()).relations}[CAPITAL] == 3


def test_what_others_add_to_the_graph_outlives_the_loads(gateway: Gateway, driver: neo4j.Driver) -> None:
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)
    load(TripleSource([("m.peru", CAPITAL, "m.cusco"), ("a", "r", "b")]), gateway, mode="append")
    driver.execute_query(
        "MATCH (peru:Entity {id: 'm.peru'}), (lima:Entity {id: 'm.lima'}), (a:Entity {id: 'a'}) "
        "CREATE (peru)-[:visited]->(lima), (:Person)-[:likes]->(a), (:Entity {id: 'mine'})-[:mine]->(:Literal)"
    )
    unload(gateway, "2")
    others = {("m.peru", "visited"), (None, "likes"), ("mine", "mine")}
    assert found(driver) == others
    (record,) = driver.execute_query("MATCH (e:Entity {id: 'a'}) RETURN labels(e), e.signature_relations").records
    assert tuple(record) == (["Entity"], [])
    peru = driver.execute_query("MATCH (e:Entity {id: 'm.peru'}) RETURN e.signature_relations, e.signature_counts")
    assert len(peru.records[0][0]) == len(peru.records[0][1])
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway, force=True)
    load(TripleSource([("x", "r", "y")]), gateway, mode="replace")
    assert found(driver) == others
    unload(gateway, "1")
    assert found(driver) == others


def found(driver: neo4j.Driver) -> set[tuple[str | None, str]]:
    """Return what others put into the graph."""
    text = "MATCH (h)-[r]->() WHERE type(r) IN ['visited', 'likes', 'mine'] RETURN h.id, type(r)"
    return {(id_, type_) for id_, type_ in driver.execute_query(text).records}
