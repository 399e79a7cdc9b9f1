"""Baselines: each is a retriever whose paths are in the graph, and a smaller top_k is a prefix of a larger."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from lodestar.engine.evaluation.baselines import (
    DAMPING,
    OracleRetriever,
    PageRankRetriever,
    RandomWalkRetriever,
    ShortestPathRetriever,
    WholeGraphRetriever,
)
from lodestar.engine.evaluation.whole_graph import WholeGraph
from lodestar.engine.evidence.chain import Chain
from lodestar.engine.evidence.evidence import Evidence
from lodestar.engine.steps import run_steps
from lodestar.engine.values import Entity, LinkedQuestion, Question, Topic


def random_graph(seed: int) -> WholeGraph:
    chosen = random.Random(seed)
    rows = {(chosen.randrange(12), chosen.choice("rst"), chosen.randrange(12)) for _ in range(40)}
    return WholeGraph.of(
        (Entity(f"n{h}", None if h == 11 else f"N{h}"), r, Entity(f"n{t}", None if t == 11 else f"N{t}"))
        for h, r, t in sorted(rows)
    )


RETRIEVERS: dict[str, Callable[[WholeGraph], WholeGraphRetriever]] = {
    "oracle": lambda graph: OracleRetriever(graph, 2, {"q": ["n5", "n6", "absent"]}),
    "shortest": lambda graph: ShortestPathRetriever(graph, 2),
    "pagerank": lambda graph: PageRankRetriever(graph, 2),
    "random": lambda graph: RandomWalkRetriever(graph, 2, seed=1),
}


def ask(retriever: WholeGraphRetriever, topics: tuple[str, ...], top_k: int) -> Evidence[Chain]:
    linked = LinkedQuestion(Question("?", topics, "q"), tuple(Topic(Entity(topic, topic)) for topic in topics))
    (found,) = run_steps(retriever.retrieve([linked], top_k), lambda _: [])
    return found


@pytest.mark.parametrize("name", RETRIEVERS)
@pytest.mark.parametrize("seed", range(4))
def test_paths_are_in_the_graph_and_fewer_are_the_first(name: str, seed: int) -> None:
    graph = random_graph(seed)
    retriever = RETRIEVERS[name](graph)
    many = ask(retriever, ("n0", "n1", "not there"), 10)
    assert many.items
    for path in many.items:
        assert path.value.ends
        assert {"n0", "n1"}.isdisjoint(end.id for end in path.value.ends)
        assert all(not end.is_mediator for end in path.value.ends)
        for instance, end in zip(path.value.instances(), path.value.ends, strict=False):
            assert (instance.start, instance.end) == (path.value.topic, end)
    assert [path.score for path in many.items] == sorted((p.score for p in many.items), reverse=True)
    assert ask(retriever, ("n0", "n1"), 3).items == many.items[:3]
    assert ask(RETRIEVERS[name](graph), ("n0", "n1"), 10).items == many.items
    assert ask(retriever, ("not there",), 10).items == ()


def test_pagerank_by_hand() -> None:
    graph = WholeGraph.of([(Entity("t", "T"), "r", Entity("a", "A")), (Entity("t", "T"), "r", Entity("b", "B"))])
    found = ask(PageRankRetriever(graph, 2), ("t",), 5)
    # p(t) = (1 - d) + d (p(a) + p(b)) and p(a) = p(b) = d p(t) / 2
    at_topic = (1 - DAMPING) / (1 - DAMPING**2)
    assert [path.value.ends[0].id for path in found.items] == ["a", "b"]
    assert [path.score for path in found.items] == pytest.approx([DAMPING * at_topic / 2] * 2)


def test_the_nearest_to_all_topics_comes_first() -> None:
    rows = [("t", "r", "far"), ("t", "r", "mid"), ("mid", "s", "u"), ("far", "s", "x"), ("x", "s", "u")]
    graph = WholeGraph.of((Entity(h, h), r, Entity(t, t)) for h, r, t in rows)
    found = ask(ShortestPathRetriever(graph, 2), ("t", "u"), 5)
    assert [(path.value.ends[0].id, path.score) for path in found.items] == [("mid", -2), ("far", -3), ("x", -3)]


def test_another_seed_takes_other_paths() -> None:
    graph = random_graph(1)
    assert (
        ask(RandomWalkRetriever(graph, 2, seed=1), ("n0",), 5).items
        != ask(RandomWalkRetriever(graph, 2, seed=2), ("n0",), 5).items
    )
