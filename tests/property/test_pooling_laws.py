"""Path Pooling on random multigraphs: what writing every path out gives, whatever the order and the names."""

from __future__ import annotations

from itertools import starmap
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.models.path_pooling import ScoredEdge, pool_triple_scores, reselect_triples

from tests.references.pooling import PlainTriple, reference_scores

NUM_NODES = 7
scores = st.integers(0, 8).map(lambda n: n / 8) | st.floats(0, 1)  # eighths meet often: equally good ways
nodes = st.integers(0, NUM_NODES - 1)
questions = st.tuples(st.lists(st.tuples(nodes, nodes, scores), max_size=14), st.lists(nodes, max_size=3, unique=True))
positions = st.sampled_from([1.0, 0.5, 3.0, -2.0])
PlainQuestion = tuple[list[PlainTriple], list[int]]


def pool(triples: list[PlainTriple], topics: list[int], position: float) -> list[float]:
    return pool_triple_scores(list(starmap(ScoredEdge, triples)), topics, position)


@given(questions, positions, st.booleans())
def test_scores_are_those_of_the_paths_written_out(asked: PlainQuestion, position: float, directed: bool) -> None:
    triples, topics = asked
    found = pool_triple_scores(list(starmap(ScoredEdge, triples)), topics, position, directed=directed)
    assert found == pytest.approx(reference_scores(*asked, position, directed=directed), rel=1e-12)


@given(questions, st.randoms(use_true_random=False), positions)
def test_neither_the_order_of_triples_nor_the_numbers_of_nodes_matter(
    asked: PlainQuestion, random: Random, position: float
) -> None:
    triples, topics = asked
    order, names = random.sample(range(len(triples)), len(triples)), random.sample(range(NUM_NODES), NUM_NODES)
    renamed = [(names[triples[i][0]], names[triples[i][1]], triples[i][2]) for i in order]
    before = pool(*asked, position)
    shuffled = pool(renamed, [names[topic] for topic in topics], position)
    assert shuffled == pytest.approx([before[place] for place in order], rel=1e-12)


@given(questions, positions, st.integers(0, 14), st.none() | st.integers(0, 14))
def test_keeping_fewer_is_a_prefix(asked: PlainQuestion, position: float, keep: int, coarse: int | None) -> None:
    triples, topics = list(starmap(ScoredEdge, asked[0])), asked[1]
    fewer = reselect_triples(triples, topics, keep, position, coarse=coarse)
    more = reselect_triples(triples, topics, keep + 1, position, coarse=coarse)
    assert fewer == more[: len(fewer)]
    assert len(fewer) == min(keep, len(triples), *([] if coarse is None else [coarse]))
