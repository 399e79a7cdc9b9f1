"""What a step of a search reads, from which entities, and what the entities that it reaches propose; over a graph in
memory."""

from __future__ import annotations

import math
from typing import Any

import pytest
from lodestar.engine.neo4j.graph import read_signatures
from lodestar.engine.retrieval.frontier import (
    Frontier,
    FrontierBounds,
    FrontierTree,
    is_return_path,
    select_answer_ends,
)
from lodestar.engine.values import Entity, RelationStep, Topic

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph

FILMS = MemoryGraph(
    [
        *(("heat", "actor", f"a{n}") for n in range(3)),
        *((f"a{n}", "born", f"c{n}") for n in range(3)),
        *((f"c{n}", "country", "land") for n in range(3)),
        ("heat", "year", '"1995"'),
        ("heat", "actor", '"uncredited"'),
        ("a0", "award", "oscar"),
        ("a1", "spouse", "c0"),
        ("a2", "agent", "c1"),
    ],
    literals={'"1995"': "1995", '"uncredited"': "uncredited"},
    related=("award",),
)


def tree_of(graph: MemoryGraph, *topics: str, max_hop: int = 4, **bounds: int) -> FrontierTree:
    """Return a tree with the frontiers of these topics, as a search begins it."""
    graph.requests.clear()
    signatures = graph.run(read_signatures(topics))
    found: dict[str, Any] = {**signatures} | {
        id_: Topic(Entity(id_, graph.literals[id_], True), relations=tuple(graph.signature(id_)))
        for id_ in topics
        if id_ in graph.literals
    }
    graph.requests.clear()
    return FrontierTree(found, FrontierBounds(**bounds), max_hop, graph.stored_as)


def root(tree: FrontierTree, id_: str) -> Frontier:
    found = tree.root(Entity(id_))
    assert found is not None
    return found


def step(name: str) -> RelationStep:
    return RelationStep(name.removeprefix("^"), name.startswith("^"))


def walk(graph: MemoryGraph, tree: FrontierTree, topic: str, *names: str) -> Frontier:
    at = root(tree, topic)
    for name in names:
        (at,) = tree.expand(make_context(graph).db, [(at, step(name))])
    return at


def ids(frontier: Frontier) -> list[str]:
    return [end.id for end in frontier.ends]


def list_proposals(graph: MemoryGraph, frontier: Frontier) -> set[str]:
    return {str(each) for _, each in frontier.steps_on(graph.numbered)}


@pytest.mark.parametrize(("max_sources", "ends", "cut"), [(2, ["c0", "c1"], True), (3, ["c0", "c1", "c2"], False)])
def test_of_too_many_entities_the_first_are_walked_on_from_and_all_that_follows_is_cut(
    max_sources: int, ends: list[str], cut: bool
) -> None:
    tree = tree_of(FILMS, "heat", max_sources=max_sources)
    born = walk(FILMS, tree, "heat", "actor", "born")
    assert (ids(born), born.cut) == (ends, cut)
    land = walk(FILMS, tree, "heat", "actor", "born", "country")
    assert (ids(land), land.cut) == (["land"], cut)
    assert not walk(FILMS, tree, "heat", "actor").cut


RECORDS = MemoryGraph(
    [
        ("ann", "job", "m1"),
        ("m1", "at", "firm"),
        ("m1", "since", "year"),
        ("ann", "note", "m2"),
        ("ann", "note", "bob"),
        ("m2", "of", "firm"),
    ],
    names={name: name for name in ("ann", "firm", "year", "bob")},
)


def test_only_a_step_whose_ends_all_lack_a_name_leads_into_records() -> None:
    tree = tree_of(RECORDS, "ann", "m1", max_hop=1)
    job, note, record = walk(RECORDS, tree, "ann", "job"), walk(RECORDS, tree, "ann", "note"), root(tree, "m1")
    assert [each.at_mediator for each in (job, note, record)] == [True, False, False]
    assert (list_proposals(RECORDS, job), list_proposals(RECORDS, record)) == ({"at", "since"}, {"^job", "at", "since"})
    assert list_proposals(RECORDS, note) == {"^note", "of"}, "at the end of the hop those without a name alone propose"
    assert ids(walk(RECORDS, tree, "ann", "job", "at")) == ["firm"]
    assert walk(RECORDS, tree, "ann", "job", "at").steps == (RelationStep("job", to_mediator=True), RelationStep("at"))


def test_the_branching_of_a_path_is_the_relations_that_lead_on_at_each_hop() -> None:
    """Two at Ann; at the record three, which is no place to choose, and so on at the firm: its two."""
    tree = tree_of(RECORDS, "ann")
    assert root(tree, "ann").log_branching() == pytest.approx(math.log(3))
    assert walk(RECORDS, tree, "ann", "job").log_branching() == pytest.approx(math.log(3))
    firm = walk(RECORDS, tree, "ann", "job", "at")
    assert firm.log_branching() == pytest.approx(math.log(3) + math.log(3))


# Where a path ends for the asker.

ANN, BEN = Entity("ann", "Ann"), Entity("ben", "Ben")
THERE, BACK, ON = RelationStep("parent"), RelationStep("parent", inverse=True), RelationStep("child")
INTO, OUT = RelationStep("marriage", to_mediator=True), RelationStep("spouse", inverse=True)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((THERE,), False),
        ((THERE, BACK), True),
        ((THERE, THERE), False),
        ((THERE, ON), False),
        ((THERE, ON, BACK), False),
        ((THERE, INTO, RelationStep("marriage", inverse=True), BACK), True),
        ((INTO, OUT), False),
    ],
)
def test_a_path_walks_back_where_it_is_its_own_way_home(steps: tuple[RelationStep, ...], expected: bool) -> None:
    assert is_return_path(steps) is expected


def test_topics_are_ends_only_where_that_is_asked_for_and_not_straight_back() -> None:
    assert select_answer_ends((THERE, ON), (ANN, BEN), {"ann"}, return_to_topic=False) == (BEN,)
    assert select_answer_ends((THERE, ON), (ANN, BEN), {"ann"}, return_to_topic=True) == (ANN, BEN)
    assert select_answer_ends((THERE, BACK), (ANN, BEN), {"ann"}, return_to_topic=True) == (BEN,)
