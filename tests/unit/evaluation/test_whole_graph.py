"""The whole graph in memory, and what is within reach in it, held against a walk over plain sets."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.engine.evaluation.diagnosis import find_reachable_paths
from lodestar.engine.evaluation.whole_graph import WholeGraph
from lodestar.engine.values import Entity

MEDIATORS = {"x", "y"}
LITERAL = "l"

nodes = st.sampled_from(["a", "b", "c", "d", "e", *sorted(MEDIATORS), LITERAL])
triples = st.lists(
    st.tuples(nodes.filter(lambda node: node != LITERAL), st.sampled_from(["r", "s", "t"]), nodes),
    min_size=1,
    max_size=18,
)
Walked = dict[tuple[str, ...], frozenset[str]]


def entity(id_: str) -> Entity:
    return Entity(id_, None if id_ in MEDIATORS else id_, is_literal=id_ == LITERAL)


def graph_of(rows: list[tuple[str, str, str]]) -> WholeGraph:
    return WholeGraph.of((entity(h), r, entity(t)) for h, r, t in sorted(set(rows)))


def walked(rows: list[tuple[str, str, str]], topic: str, max_hop: int) -> Walked:
    """Every relation path with its ends, by definition."""
    leads: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for head, relation, tail in rows:
        leads[head][relation].add(tail)
        leads[tail][f"^{relation}"].add(head)
    found: Walked = {}

    def walk(frontier: frozenset[str], steps: tuple[str, ...], num_hops: int, at_mediator: bool) -> None:
        for step in {step for node in frontier if node != LITERAL for step in leads[node]}:
            if at_mediator and (step == f"^{steps[-1]}" or steps[-1] == f"^{step}"):
                continue
            reached = frozenset(t for node in frontier if node != LITERAL for t in leads[node].get(step, ()))
            to_mediator = reached <= MEDIATORS
            hops = num_hops + (not to_mediator)
            if hops > max_hop or len(steps) >= 2 * max_hop:
                continue
            found[(*steps, step)] = frozenset() if to_mediator else reached - MEDIATORS
            if hops < max_hop:
                walk(reached, (*steps, step), hops, to_mediator)

    walk(frozenset({topic}), (), 0, False)
    return found


@settings(max_examples=60)
@given(triples, st.integers(1, 2), st.sets(st.sampled_from(["a", "b", "c", LITERAL]), min_size=1, max_size=3))
def test_what_is_reachable_is_what_a_walk_finds(rows: list[tuple[str, str, str]], max_hop: int, gold: set[str]) -> None:
    graph = graph_of(rows)
    known = {node for head, _, tail in rows for node in (head, tail)}
    topic = next((node for node in ("d", "a", "e") if node in known), None)
    if topic is None or not gold & known:
        return
    wanted = np.array([graph.numbers[node] for node in sorted(gold & known)])
    for return_to_topic in (False, True):
        expected = {
            steps: found
            for steps, ends in walked(rows, topic, max_hop).items()
            if (found := ends if return_to_topic and not is_reversed(steps) else ends - {topic}) & gold
        }
        check(graph, topic, wanted, max_hop, gold & known, expected, return_to_topic=return_to_topic)


def is_reversed(steps: tuple[str, ...]) -> bool:
    turned = tuple(step.removeprefix("^") if step.startswith("^") else "^" + step for step in reversed(steps))
    return steps == turned


def check(
    graph: WholeGraph,
    topic: str,
    wanted: np.ndarray,
    max_hop: int,
    gold: set[str],
    expected: dict[tuple[str, ...], frozenset[str]],
    *,
    return_to_topic: bool,
) -> None:
    found = find_reachable_paths(graph, [graph.numbers[topic]], wanted, max_hop, return_to_topic=return_to_topic)
    by_steps = {tuple(map(str, each.relation_path.steps)): each for each in found}
    assert {steps: frozenset(e.id for e in each.ends) for steps, each in by_steps.items()} == expected
    for steps, each in by_steps.items():
        ends = expected[steps]
        right = len(ends & gold)
        assert each.f1 == pytest.approx(2 * right / (len(ends) + len(gold)))
    assert [each.f1 for each in found] == sorted((each.f1 for each in found), reverse=True)


def test_paths_within_reach_by_hand() -> None:
    graph = graph_of(
        [("a", "r", "b"), ("b", "s", "c"), ("b", "s", "d"), ("a", "t", "c"), ("a", "m", "x"), ("x", "n", "e")]
    )

    def found(gold: str) -> list[tuple[str, float]]:
        wanted = np.array([graph.numbers[gold]])
        return [
            (str(r.relation_path), round(r.f1, 3)) for r in find_reachable_paths(graph, [graph.numbers["a"]], wanted, 2)
        ]

    assert found("c") == [("t", 1.0), ("r → s", 0.667)]
    assert found("e") == [("m → n", 1.0)]
    assert found("a") == []
