"""Chains that lack triples are completed from a graph in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.reorganising.chaining import ChainCompleter
from lodestar.engine.values import Entity, Path, Topic, Triple

from tests.fakes.memory_graph import MemoryGraph
from tests.made.evidence import chain_of, evidence_of, leads, ranked

GRAPH = MemoryGraph(
    [
        ("america", "contains", "peru"),
        ("america", "contains", "chile"),
        ("peru", "speaks", "spanish"),
        ("peru", "speaks", "quechua"),
        ("chile", "speaks", "spanish"),
        ("bolivia", "speaks", "quechua"),
        ("peru", "capital", "lima"),
        ("chile", "capital", "santiago"),
    ],
    related=("capital",),
)
AMERICA, PERU, CHILE, SPANISH, QUECHUA, LIMA = (
    Entity(name, name) for name in ("america", "peru", "chile", "spanish", "quechua", "lima")
)
SPEAKS = leads("speaks", SPANISH, topic=PERU)
SPEAK_ALIKE = chain_of(Path((Triple(PERU, "speaks", SPANISH), Triple(CHILE, "speaks", SPANISH)), (False, True)))
CONTAINED = Triple(AMERICA, "contains", PERU)
SPOKEN = chain_of(Path((CONTAINED, Triple(PERU, "speaks", SPANISH)), (False, False)))
WHERE_SPOKEN = chain_of(
    Path((CONTAINED, Triple(PERU, "speaks", SPANISH), Triple(CHILE, "speaks", SPANISH)), (False, False, True))
)


def complete(*evidence: Evidence[Any], chains: int = 9) -> list[Evidence[Any]]:
    GRAPH.requests.clear()
    return GRAPH.run(ChainCompleter(GRAPH.stored_as, chains=chains).reorganise(evidence))


def ends(evidence: Evidence[Any]) -> list[list[str]]:
    return [[end.id for end in item.value.ends] for item in evidence.items]


def test_a_chain_has_all_triples_of_its_path_its_place_and_its_score() -> None:
    evidence = evidence_of(*ranked(SPOKEN, SPEAKS, leads("capital", LIMA, topic=PERU)))
    nothing = evidence_of(topics=(Topic(PERU),))
    completed, same = complete(evidence, nothing)
    assert ends(completed) == [["spanish", "quechua"], ["spanish", "quechua"], ["lima"]]
    assert [item.score for item in completed.items] == [1.0, 0.9, 0.8]
    links = [[(source.id, end.id) for source, end in step.links] for step in completed.items[0].value.steps]
    assert links == [
        [("america", "peru"), ("america", "chile")],
        [("peru", "spanish"), ("peru", "quechua"), ("chile", "spanish")],
    ]
    assert same == nothing
    assert GRAPH.requests == ["expand_steps", "expand_steps"]


def test_only_the_best_chains_are_completed_and_none_whose_ends_were_chosen() -> None:
    evidence = evidence_of(*ranked(replace(SPEAKS, targets=(SPANISH,)), SPOKEN, SPEAKS))
    (completed,) = complete(evidence, chains=2)
    assert ends(completed) == [["spanish"], ["spanish", "quechua"], ["spanish"]]
    assert (completed.items[0], completed.items[2]) == (evidence.items[0], evidence.items[2])


def test_what_the_graph_has_no_more_stays_and_what_nobody_asks_about() -> None:
    """A relation that is gone, and one after it; a chain to a topic alone; a topic that was not linked."""
    gone = leads("ruler", LIMA, topic=PERU)
    further = chain_of(Path((Triple(PERU, "ruler", CHILE), Triple(CHILE, "speaks", SPANISH)), (False, False)))
    home = chain_of(Path((Triple(AMERICA, "contains", PERU),), (True,)))
    topics = (Topic(PERU), Topic(AMERICA))
    for evidence in (evidence_of(*ranked(gone, further, home), topics=topics), evidence_of(*ranked(SPEAKS), topics=())):
        assert complete(evidence) == [evidence]


def test_no_step_walks_the_triple_before_it_back() -> None:
    """What speaks as Peru does is Chile and Bolivia. Two countries of America speak Spanish, each as the other, and one
    speaks Quechua: nobody there speaks it as Peru does."""
    found, there = complete(evidence_of(*ranked(SPEAK_ALIKE)), evidence_of(*ranked(WHERE_SPOKEN)))
    assert ends(found) == [["chile", "bolivia"]]
    assert ends(there) == [["peru", "chile", "bolivia"]]
    (item,) = there.items
    assert [(source.id, end.id) for source, end in item.value.steps[-1].links] == [
        ("spanish", "peru"),
        ("spanish", "chile"),
        ("quechua", "bolivia"),
    ]
