"""The figures of a graph, from degrees and edges at hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.neo4j.statistics import DegreeCount, component_sizes, log_bins, summarise_degrees


def sizes_by_walking(num_nodes: int, edges: list[tuple[int, int]]) -> dict[int, int]:
    """Return the sizes of components, found by walking along the edges in both directions."""
    near: dict[int, set[int]] = {node: set() for node in range(num_nodes)}
    for start, end in edges:
        near[start].add(end)
        near[end].add(start)
    sizes = []
    while near:
        waiting, component = [next(iter(near))], set[int]()
        while waiting:
            node = waiting.pop()
            if node not in component:
                component.add(node)
                waiting += near.pop(node)
        sizes.append(len(component))
    return dict(Counter(sizes))


graphs = st.integers(1, 25).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
)


@given(graphs, st.randoms(use_true_random=False), st.integers(1, 30), st.integers(1, 3))
def test_components_are_those_that_a_walk_finds(
    graph: tuple[int, list[tuple[int, int]]], random: object, chunk_edges: int, gap: int
) -> None:
    num_nodes, edges = graph
    rows = [(node * gap, [end * gap for start, end in edges if start == node]) for node in range(num_nodes)]
    random.shuffle(rows)  # type: ignore[attr-defined]
    assert component_sizes(rows, chunk_edges) == sizes_by_walking(num_nodes, edges)


def test_degrees_are_summed_up() -> None:
    found = summarise_degrees([DegreeCount(0, 1, 0), DegreeCount(1, 5, 5), DegreeCount(2, 3, 1), DegreeCount(40, 1, 1)])
    assert (found.min, found.median, found.p90, found.p99, found.max) == (0, 1, 2, 40, 40)
    assert found.mean == pytest.approx(5.1)
    assert [b.count for b in found.bins] == [1, 5, 3, 0, 0, 0, 1]


@given(st.dictionaries(st.integers(0, 5000), st.integers(1, 9), min_size=1))
def test_bins_hold_everything_once(counts: dict[int, int]) -> None:
    bins = log_bins(counts)
    for found in bins:
        assert found.count == sum(count for size, count in counts.items() if found.low <= size <= found.high)
    assert sum(found.count for found in bins) == sum(counts.values())
    assert bins[0].low <= min(counts) <= bins[0].high
    assert bins[-1].low <= max(counts) <= bins[-1].high
