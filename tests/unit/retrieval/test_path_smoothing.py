"""Path Pooling in a pipeline: evidence of triples, or of chains by way of the bridge, smoothed and kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.evidence.bridges import to_triples
from lodestar.engine.evidence.calibration import Calibration
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.recipes import Recipe, read_recipe
from lodestar.engine.reorganising.pooling import PathPooling
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple

from tests.fakes.call_context import make_context
from tests.made.evidence import evidence_of, leads

PROBABILITY = Calibration("probability")


def entity(name: str) -> Entity:
    return Entity(name, name.upper())


def triples(
    *facts: tuple[str, str, str, float], topics: str = "a", calibration: Calibration | None = PROBABILITY
) -> Evidence[Triple]:
    items = tuple(Scored(Triple(entity(h), r, entity(t)), s) for h, r, t, s in facts)
    return Evidence(Question("?"), tuple(Topic(entity(topic)) for topic in topics), "triple", items, calibration)


def smoothed(*evidence: Evidence[Triple], keep: int | None = None, coarse: int | None = None) -> list[Evidence[Triple]]:
    return PathPooling(keep=keep or 0, coarse=coarse or 0)(make_context(), evidence)


def shown(evidence: Evidence[Triple]) -> list[tuple[str, float]]:
    return [(f"{i.value.head.id}{i.value.relation}{i.value.tail.id}", round(i.score, 9)) for i in evidence.items]


FACTS = (("b", "s", "c", 0.8), ("x", "q", "y", 0.45), ("a", "r", "b", 0.4))


def test_a_triple_on_the_way_to_a_good_one_comes_up() -> None:
    """a → b → c: mean 0.6, least 0.4, so 0.6 + 0.4 and 0.6 + 0.2; x → y alone 0.45 + 0.4."""
    (pooled,) = smoothed(triples(*FACTS))
    assert shown(pooled) == [("arb", 1.0), ("xqy", 0.85), ("bsc", 0.8)]
    assert pooled.calibration is None
    assert pooled.kind == "triple"


def test_a_batch_is_pooled_as_each_alone_and_groups_stay_with_their_triples() -> None:
    first, second = replace(triples(*FACTS), groups=(0, 1, 2)), triples(("b", "r", "a", 0.5))
    together = smoothed(first, triples(), second, keep=2)
    assert together == [*smoothed(first, keep=2), *smoothed(triples()), *smoothed(second, keep=2)]
    assert together[0].groups == (2, 1)
    assert [len(each.items) for each in together] == [2, 0, 1]
    assert smoothed() == []


def test_the_coarse_selection_goes_by_the_scores_that_came() -> None:
    assert shown(smoothed(triples(*FACTS), coarse=2)[0]) == [("bsc", 0.8 + 0.45), ("xqy", 0.45 + 0.45)]


def test_what_is_pooled_are_probabilities() -> None:
    """σ(ln 4) = 0.8; without a calibration a negative score says that they are logits."""
    logits = (("a", "r", "b", 1.3862943611198906), ("c", "r", "d", -1.3862943611198906))
    for calibration in (Calibration("logit"), None):
        assert shown(smoothed(triples(*logits, calibration=calibration))[0]) == [("arb", 1.0), ("crd", 0.4)]
    assert shown(smoothed(triples(("a", "r", "b", 2.5), calibration=None))[0]) == [("arb", 5.0)]
    least_is_0 = triples(("a", "r", "b", 0.5), ("c", "r", "d", 0.0), calibration=None)
    assert shown(smoothed(least_is_0)[0]) == [("arb", 0.5), ("crd", 0.0)]


def test_parallel_relations_and_a_topic_that_is_nowhere() -> None:
    facts = (("a", "r", "b", 0.5), ("a", "s", "b", 0.25))
    assert shown(smoothed(triples(*facts))[0]) == [("arb", 0.75), ("asb", 0.5)]
    assert shown(smoothed(triples(*facts, topics="z"))[0]) == [("arb", 0.75), ("asb", 0.5)]


def test_chains_come_by_the_bridge() -> None:
    chain = leads("s", entity("c"), entity("d"), topic=entity("a"), via=entity("b"))
    (pooled,) = smoothed(to_triples(evidence_of(Scored(chain, 0.5), calibration=PROBABILITY)))
    assert [key for key, _ in shown(pooled)] == ["aonb", "bsc", "bsd"]


class TestPart:
    def test_a_bridge_is_put_before_it(self) -> None:
        recipe = read_recipe("similarity + path-pooling", ["path-pooling.keep=50", "path-pooling.kernel=bfs"])
        assert recipe.as_json()["resolved"] == ["similarity", "chain → triple", "path-pooling"]
        assert recipe.parts["path-pooling"] == PathPooling(keep=50, kernel="bfs")
        assert Recipe.of(recipe.as_json()) == recipe

    def test_a_kernel_that_there_is_not(self) -> None:
        with pytest.raises(UsageError, match="expected one of dijkstra, bfs, random-walk for kernel, found 'astar'"):
            read_recipe("similarity + path-pooling", ["path-pooling.kernel=astar"])
        with pytest.raises(UsageError, match="path-pooling: expected at least 1e-06 for position, found 0"):
            read_recipe("similarity + path-pooling", ["path-pooling.position=0"])
