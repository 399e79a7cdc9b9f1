"""Path Pooling on random multigraphs: what writing every path out gives, whatever the order and the names."""

from __future__ import annotations

from itertools import starmap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lodestar.models.path_pooling import ScoredEdge, pool_triple_scores

from tests.references.pooling import PlainTriple, reference_scores

NUM_NODES = 7
scores = st.integers(0, 8).map(lambda n: n / 8) | st.floats(0, 1)  # eighths meet often: equally good ways
nodes = st.integers(0, NUM_NODES - 1)
questions = st.tuples(st.lists(st.tuples(nodes, nodes, scores), max_size=14), st.lists(nodes, max_size=3, unique=True))
positions = st.sampled_from([1.0, 0.5, 3.0, -2.0])
PlainQuestion = tuple[list[PlainTriple], list[int]]


@given(questions, positions, st.booleans())
def test_scores_are_those_of_the_paths_written_out(asked: PlainQuestion, position: float, directed: bool) -> None:
    triples, topics = asked
    found = pool_triple_scores(list(starmap(ScoredEdge, triples)), topics, position, directed=directed)
    assert found == pytest.approx(reference_scores(*asked, position, directed=directed), rel=1e-12)
