"""Noise: hard, wrong, in the graph, at random places, the same for a seed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.evaluation.baselines import Noise
from lodestar.engine.evaluation.noise import NoiseInjector
from lodestar.engine.evaluation.whole_graph import WholeGraph
from lodestar.engine.evidence.bridges import to_triples
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence, Item
from lodestar.engine.recipes.recipe import read_recipe
from lodestar.engine.steps import run_steps
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple

from tests.made.evidence import evidence_of, leads

RELATIONS = ("capital", "currency", "borders", "language")


def entity(name: str) -> Entity:
    return Entity(name, name.title())


TRIPLES = [Triple(entity(f"c{n}"), relation, entity(f"{relation}{n % 7}")) for n in range(20) for relation in RELATIONS]
GRAPH = WholeGraph.of((t.head, t.relation, t.tail) for t in TRIPLES)
GOLD = {"q": ["capital0"]}
CHAINS: Evidence[Any] = replace(
    evidence_of(
        Scored(leads("capital", entity("capital0"), topic=entity("c0")), 0.9),
        Scored(leads("currency", entity("currency0"), topic=entity("c0")), 0.5),
    ),
    question=Question("?", id="q"),
    topics=(Topic(entity("c0")),),
)


def noisy(evidence: Evidence[Any], num: int, seed: int = 0) -> Evidence[Any]:
    (found,) = run_steps(NoiseInjector(GRAPH, GOLD, num, seed).reorganise([evidence]), lambda _: [])
    return found


def facts(item: Item) -> set[Triple]:
    return {triple for step in item.triples() for triple in step} if isinstance(item, Chain) else {item}


@pytest.mark.parametrize("evidence", [CHAINS, to_triples(CHAINS)], ids=["chains", "triples"])
def test_noise_is_of_the_graph_and_leads_to_no_right_answer(evidence: Evidence[Any]) -> None:
    found = noisy(evidence, 10)
    own = [item for item in found.items if item.value in {each.value for each in evidence.items}]
    added = [item.value for item in found.items if item not in own]
    assert len(own) == 2
    assert len(added) == len(set(added)) == 10
    for value in added:
        assert facts(value) <= set(TRIPLES)
        assert not {"capital0"} & {name for triple in facts(value) for name in (triple.head.id, triple.tail.id)}
    scores = [item.score for item in found.items]
    assert scores == sorted(scores, reverse=True)
    assert found.kind == evidence.kind


def test_every_second_piece_has_the_topic_and_the_others_the_relations() -> None:
    added = [item.value for item in noisy(CHAINS, 6).items if item not in CHAINS.items]
    relations = {chain.steps[0].step.relation for chain in added if chain.topic.id == "c0"}
    assert relations
    assert relations.isdisjoint({"capital", "currency"})
    assert {c.steps[0].step.relation for c in added if c.topic.id != "c0"} <= {"capital", "currency"}


def test_a_seed_gives_the_same_and_fewer_are_among_more() -> None:
    assert noisy(CHAINS, 5) == noisy(CHAINS, 5)
    assert noisy(CHAINS, 5, seed=1) != noisy(CHAINS, 5)
    few, many = ({item.value for item in noisy(CHAINS, num).items} for num in (3, 8))
    assert few < many
    assert noisy(CHAINS, 0) == CHAINS


def test_groups_grow_with_the_items_and_no_evidence_stays_none() -> None:
    grouped = noisy(replace(CHAINS, groups=(0, 1)), 4)
    assert len(grouped.groups) == 6
    assert list(grouped.groups) == sorted(grouped.groups)
    empty = replace(CHAINS, items=())
    assert noisy(empty, 4) == empty


def test_the_part_stands_among_others_and_needs_an_evaluation() -> None:
    recipe = read_recipe("similarity + noise + fi", ["noise.num=30"])
    assert recipe.as_json()["resolved"] == ["similarity", "noise", "fi"]
    assert recipe.parts["noise"] == Noise(num=30)
    with pytest.raises(UsageError, match="noise: expected 0 to 1000 for num"):
        Noise(num=-1)
