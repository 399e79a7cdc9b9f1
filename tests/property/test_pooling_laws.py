"""Path Pooling on random multigraphs: what writing every path out gives, whatever the order, the names and the batch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lodestar.engine.evidence.evidence import Calibration, Evidence
from lodestar.engine.reorganising.pooling import PathPooling
from lodestar.engine.values import Entity, Question, Scored, Topic, Triple
from lodestar.models.path_pooling import ScoredTriples, pool_triple_scores, reselect_triples

from tests.fakes.call_context import make_context
from tests.references.pooling import PlainTriple, reference_scores

NUM_NODES = 7
scores = st.integers(0, 8).map(lambda n: n / 8) | st.floats(0, 1)  # eighths meet often: equally good ways
nodes = st.integers(0, NUM_NODES - 1)
questions = st.tuples(st.lists(st.tuples(nodes, nodes, scores), max_size=14), st.lists(nodes, max_size=3, unique=True))
positions = st.sampled_from([1.0, 0.5, 3.0, -2.0])
PlainQuestion = tuple[list[PlainTriple], list[int]]
Pooled = tuple[int, float]


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


@given(questions, positions)
def test_scores_stay_within_their_bounds(asked: PlainQuestion, position: float) -> None:
    triples = batch_of([asked])
    if not triples.num_triples:
        return
    bonus, slack = triples.scores.min() / position, 1e-12
    pooled = pool_triple_scores(triples, position)
    assert pooled.min() >= triples.scores.min() + min(0.0, bonus) - slack
    assert pooled.max() <= triples.scores.max() + max(0.0, bonus) + slack


@given(st.lists(questions, max_size=3), positions, st.integers(0, 14), st.none() | st.integers(0, 14))
def test_keeping_fewer_is_a_prefix(asked: list[PlainQuestion], position: float, keep: int, coarse: int | None) -> None:
    triples = batch_of(asked)
    fewer, _ = reselect_triples(triples, keep, position, coarse=coarse)
    more, _ = reselect_triples(triples, keep + 1, position, coarse=coarse)
    for question in range(len(asked)):
        of_fewer, of_more = (kept[triples.questions[kept] == question] for kept in (fewer, more))
        assert of_fewer.tolist() == of_more[: len(of_fewer)].tolist()
        assert len(of_fewer) == min(keep, len(asked[question][0]), *([] if coarse is None else [coarse]))


def stage_of(asked: PlainQuestion, position: float, order: list[int], names: list[str], keep: int) -> list[Pooled]:
    """What a reselection of the triples in this order keeps, each by its number in the question."""
    triples, topics = asked
    entities = [Entity(name, name) for name in names]
    items = tuple(
        Scored(Triple(entities[triples[n][0]], f"r{n}", entities[triples[n][1]]), triples[n][2]) for n in order
    )
    given_topics = tuple(Topic(entities[topic]) for topic in topics)
    evidence = Evidence(Question("?"), given_topics, "triple", items, Calibration("probability"))
    (kept,) = PathPooling(keep or 0, 0, abs(position))(make_context(), [evidence])
    return [(int(item.value.relation[1:]), item.score) for item in kept.items]


@given(questions, st.randoms(use_true_random=False), positions, st.integers(1, 14))
def test_what_a_stage_keeps_depends_on_neither_order_nor_ids(
    asked: PlainQuestion, random: object, position: float, keep: int
) -> None:
    """Equal pooled and given scores are in the order that came, by the stated rule: there scores alone are the same."""
    numbers, names = list(range(len(asked[0]))), [f"m.{n}" for n in range(NUM_NODES)]
    plain = stage_of(asked, position, numbers, names, keep)
    random.shuffle(numbers)
    random.shuffle(names)
    shuffled = stage_of(asked, position, numbers, names, keep)
    assert [score for _, score in shuffled] == [score for _, score in plain]
    everything = dict(stage_of(asked, position, numbers, names, max(1, len(numbers))))
    assert dict(plain).items() <= everything.items()
