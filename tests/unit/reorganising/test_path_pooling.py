"""Path Pooling by hand: s' = pooled score of the path + least score / (place · a), the best over the paths."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from lodestar.engine.data_model import Entity, Question, Scored, Topic, Triple
from lodestar.engine.evidence import Calibration, Evidence
from lodestar.engine.evidence.chains_and_triples import convert_to_chains
from lodestar.engine.reorganising import PathPooling, list_scored_edges
from lodestar.models.path_pooling import ScoredEdge, pool_triple_scores, reselect_triples

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph


def edges(triples: list[tuple[int, int, float]]) -> list[ScoredEdge]:
    return list(itertools.starmap(ScoredEdge, triples))


def pooled(triples: list[tuple[int, int, float]], topics: list[int], position: float = 1.0) -> list[float]:
    return pool_triple_scores(edges(triples), topics, position)


def test_a_chain_from_the_topic_shares_its_scores() -> None:
    """0 → 1 → 2 with 0.2, 0.8: paths (0.2) and (0.2, 0.8) of mean 0.5; the least score is 0.2."""
    assert pooled([(0, 1, 0.2), (1, 2, 0.8)], [0]) == pytest.approx([0.5 + 0.2, 0.5 + 0.1])


def test_paths_in_any_direction_reach_what_shares_an_end() -> None:
    """0 → 1 ← 2 with 0.8, 0.4. To the topic the second triple is the first of its path: mean 0.6 + 0.4 / 1; the first
    is best alone: 0.8 + 0.4. Along the directions no path leads on from 1: 0.4 + 0.4."""
    triples = [(0, 1, 0.8), (2, 1, 0.4)]
    assert pooled(triples, [0]) == pytest.approx([1.2, 0.8])
    assert pool_triple_scores(edges(triples), [0], directed=False) == pytest.approx([1.2, 1.0])


def test_a_divides_the_bonus() -> None:
    assert pooled([(0, 1, 0.2), (1, 2, 0.8)], [0], 4.0) == pytest.approx([0.5 + 0.05, 0.5 + 0.025])


def test_reselection_takes_the_best_by_score_then_by_pooled_score() -> None:
    """Of four triples three are pooled; 0 → 1 (0.3) gains from 1 → 2 (0.9) and comes before 5 → 6, alone 0.55 + 0.3."""
    triples = edges([(5, 6, 0.55), (0, 1, 0.3), (1, 2, 0.9), (7, 8, 0.1)])
    assert reselect_triples(triples, [0], 2, coarse=3) == [
        (1, pytest.approx(0.6 + 0.3)),
        (0, pytest.approx(0.55 + 0.3)),
    ]
    assert sorted(place for place, _ in reselect_triples(triples, [0], 99)) == [0, 1, 2, 3], "there are no more"


def test_of_equal_pooled_scores_the_higher_score_comes_first() -> None:
    """0 → 1 → 2 with 0.2, 0.8, and no bonus, as the least score is 0: both have the mean of their path, 0.5."""
    assert reselect_triples(edges([(0, 1, 0.2), (1, 2, 0.8), (7, 8, 0.0)]), [0], 2) == [(1, 0.5), (0, 0.5)]


def triples(*facts: tuple[str, float], topics: str, **options: Any) -> Evidence[Triple]:
    """Triples written as head, relation, tail in a word."""
    items = tuple(Scored(Triple(Entity(f[0], f[0]), f[1], Entity(f[2], f[2])), score) for f, score in facts)
    return Evidence(Question("?"), tuple(Topic(Entity(each, each)) for each in topics), "triple", items, **options)


PLAIN = triples(("brc", 0.8), ("arb", 0.2), topics="aza", calibration=Calibration("probability"))
CHAIN = replace(PLAIN, items=tuple(replace(item, group=group) for group, item in enumerate(PLAIN.items)))
NOTHING, APART = triples(topics="a"), triples(("xry", 0.25), topics="q")


@pytest.mark.parametrize(
    ("keep", "coarse", "found", "groups"),
    [
        (None, None, [("arb", 0.2), ("brc", 0.8)], (1, 0)),
        (1, None, [("arb", 0.2)], (1,)),
        (None, 1, [("brc", 0.8)], (0,)),
    ],
)
def test_evidence_of_a_batch_is_pooled_each_question_alone(
    keep: int | None, coarse: int | None, found: list[tuple[str, float]], groups: tuple[int, ...]
) -> None:
    stage = PathPooling(keep or 0, coarse or 0)
    whole, nothing, apart = stage(make_context(), [CHAIN, NOTHING, APART])
    facts = [f"{i.value.head.id}{i.value.relation}{i.value.tail.id}" for i in whole.items]
    assert facts == [fact for fact, _ in found]
    assert [item.score for item in whole.items] == pytest.approx([score for _, score in found])
    assert tuple(item.group for item in whole.items) == groups
    assert nothing.items == ()
    assert [item.score for item in apart.items] == [0.25]


def test_of_pooled_triples_too_the_beginning_of_a_chain_does_not_win() -> None:
    given = triples(("arb", 0.9), ("bsc", 0.85), ("bsd", 0.8), topics="a", calibration=Calibration("probability"))
    graph = MemoryGraph([(each.value.head.id, each.value.relation, each.value.tail.id) for each in given.items])
    (kept,) = PathPooling()(make_context(), [given])
    (chains,) = convert_to_chains(graph, [kept])
    scores = [(str(each.value.relation_path), each.score) for each in chains.items]
    assert scores == [("r → s", pytest.approx(0.9 * 0.85)), ("r", pytest.approx(0.9 * 0.15))]


def test_scores_without_a_calibration_are_pooled_as_they_are_where_none_is_negative() -> None:
    assert [e.score for e in list_scored_edges(triples(("arb", 0.0), ("brc", 2.0), topics="a"))] == [0.0, 2.0]
    logits = [e.score for e in list_scored_edges(triples(("arb", 0.0), ("brc", -1.0), topics="a"))]
    assert logits == pytest.approx([0.5, 1 / (1 + math.e)])
