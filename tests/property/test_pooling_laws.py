"""Path Pooling on random multigraphs: what writing every path out gives, whatever the order, the names and the batch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lodestar.models.path_pooling import ScoredTriples, pool_triple_scores, reselect_triples

from tests.references.pooling import PlainTriple, reference_scores

NUM_NODES = 7
scores = st.integers(0, 8).map(lambda n: n / 8) | st.floats(0, 1)  # eighths meet often: equally good ways
nodes = st.integers(0, NUM_NODES - 1)
questions = st.tuples(st.lists(st.tuples(nodes, nodes, scores), max_size=14), st.lists(nodes, max_size=3, unique=True))
positions = st.sampled_from([1.0, 0.5, 3.0, -2.0])
PlainQuestion = tuple[list[PlainTriple], list[int]]


def batch_of(asked: list[PlainQuestion]) -> ScoredTriples:
    triples = [(h + NUM_NODES * q, t + NUM_NODES * q, s) for q, (given, _) in enumerate(asked) for h, t, s in given]
    heads, tails, values = (np.array([t[i] for t in triples]) for i in range(3))
    return ScoredTriples(
        heads.astype(np.int64),
        tails.astype(np.int64),
        values.astype(np.float64),
        np.array([topic + NUM_NODES * q for q, (_, topics) in enumerate(asked) for topic in topics], dtype=np.int64),
        np.arange(len(asked) + 1) * NUM_NODES,
        np.cumsum([0, *(len(given) for given, _ in asked)]),
    )


@given(st.lists(questions, max_size=4), positions)
def test_a_batch_is_pooled_as_the_paths_written_out(asked: list[PlainQuestion], position: float) -> None:
    expected = [score for triples, topics in asked for score in reference_scores(triples, topics, position)]
    np.testing.assert_allclose(pool_triple_scores(batch_of(asked), position), expected, rtol=1e-12)


@given(questions, st.randoms(use_true_random=False), positions)
def test_neither_the_order_of_triples_nor_the_numbers_of_nodes_matter(
    asked: PlainQuestion, random: object, position: float
) -> None:
    triples, topics = asked
    order, names = np.arange(len(triples)), np.arange(NUM_NODES)
    random.shuffle(order)
    random.shuffle(names)
    renamed = [(int(names[triples[i][0]]), int(names[triples[i][1]]), triples[i][2]) for i in order]
    shuffled = pool_triple_scores(batch_of([(renamed, [int(names[t]) for t in topics])]), position)
    np.testing.assert_array_equal(shuffled, pool_triple_scores(batch_of([asked]), position)[order])


@given(st.lists(questions, max_size=3), positions, st.integers(0, 14), st.none() | st.integers(0, 14))
def test_keeping_fewer_is_a_prefix(asked: list[PlainQuestion], position: float, keep: int, coarse: int | None) -> None:
    triples = batch_of(asked)
    fewer, _ = reselect_triples(triples, keep, position, coarse=coarse)
    more, _ = reselect_triples(triples, keep + 1, position, coarse=coarse)
    for question in range(len(asked)):
        of_fewer, of_more = (kept[triples.questions[kept] == question] for kept in (fewer, more))
        assert of_fewer.tolist() == of_more[: len(of_fewer)].tolist()
        assert len(of_fewer) == min(keep, len(asked[question][0]), *([] if coarse is None else [coarse]))
