"""Refined supervision: which triples of a subgraph are on the walks of chosen chains."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from lodestar.engine.supervision.pools import choose_exact_paths
from lodestar.models.mined_files import (
    WEAK,
    AnswerPath,
    MinedFile,
    MinedFileOrigin,
    MinedQuestion,
    MinedTopic,
    PoolChain,
    PooledQuestion,
    PoolFile,
    PoolHeader,
)
from lodestar.models.subgraphs import mark_walks, relabel_graphs

from tests.made.reg_graphs import question_graphs


@pytest.mark.parametrize("seed", range(20))
def test_walks_are_those_that_a_search_of_all_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    heads, relation_of, tails = (rng.integers(0, most, 14) for most in (6, 2, 6))
    steps = [(int(rng.integers(2)), bool(rng.integers(2))) for _ in range(int(rng.integers(1, 4)))]
    ends = rng.random(6) < 0.5
    found = np.zeros(14, dtype=np.bool_)
    for walk in product(range(14), repeat=len(steps)):
        at, fits = 0, True
        for triple, (relation, inverse) in zip(walk, steps, strict=True):
            source, target = (tails, heads) if inverse else (heads, tails)
            fits &= bool(relation_of[triple] == relation and source[triple] == at)
            at = int(target[triple])
        if fits and ends[at]:
            found[list(walk)] = True
    np.testing.assert_array_equal(mark_walks(heads, relation_of, tails, 0, steps, ends), found)


def pool_of(*chosen: tuple[str, ...]) -> PoolFile:
    """One question each: the numbers of `reg_graphs`, counted from 0; the relations of the chosen chains."""
    questions = [
        PooledQuestion(
            f"q{number}",
            "?",
            (f"land {number}",),
            "?",
            tuple(PoolChain("path", f"land {number}", (relation,), ("land", "?")) for relation in relations),
            (),
            tuple(range(len(relations))),
            "refined",
        )
        for number, relations in enumerate(chosen)
    ]
    return PoolFile(PoolHeader("questions", "1" * 64, "2" * 64, "somebody"), tuple(questions), "5" * 64)


def test_paths_that_end_at_the_answers_alone_supervise() -> None:
    """A genre that many share is as short a way as the director, and a record without a name is two triples."""
    paths = [
        AnswerPath(0, ("has_genre", "^has_genre"), 0.01, 1, 0.5, True, True),
        AnswerPath(0, ("directed_by", "^directed_by"), 1, 1, 0.5, True, False),
        AnswerPath(1, ("marriage → ^marriage",), 1, 0.9, 0.5, True, False),
    ]
    topics = MinedTopic("film", "Film"), MinedTopic("actor", "Actor")
    asked = MinedQuestion("q0", "?", topics, tuple(paths), (), ({}, {}))
    origin = MinedFileOrigin("questions", "1" * 64, "2" * 64, encoder="?", max_hop=2, relations={})
    pool = choose_exact_paths(MinedFile(origin, (asked,)))
    chosen = [(chain.start, chain.names[0], chain.steps) for chain in pool.questions[0].supervision]
    assert chosen == [
        ("film", "Film", ("directed_by", "^directed_by")), ("actor", "Actor", ("marriage", "^marriage"))
    ]  # fmt: skip
    assert pool.header.questions_sha256 == origin.questions_sha256
    assert pool.supervision != WEAK


def test_a_pool_says_what_is_right_where_it_can() -> None:
    graphs = question_graphs(0, 4)
    wrong = replace(graphs, is_positive=~graphs.is_positive)
    changed, num_kept = relabel_graphs(wrong, pool_of(("capital",), ("capital", "currency"), ("treaty",)))
    rows = changed.is_positive.reshape(-1, 4).tolist()
    assert rows[0] == [True, False, False, False]
    assert rows[1] == [False, True, False, False]  # the capital leads to no answer
    assert rows[2:] == wrong.is_positive.reshape(-1, 4)[2:].tolist()
    assert num_kept == 2
    assert changed.texts.chain_lengths == ((1,), (1,), (), ())
    assert changed.supervision == "refined by somebody"
    assert changed.sha256 not in {graphs.sha256, ""}


def test_neighbourhoods_are_right_as_they_are() -> None:
    graphs = question_graphs(0, 1)
    pool = pool_of(("capital",))
    around = (
        PoolChain("query", "land 0", ("language",), ("land", "tongue")),
        PoolChain("answer", "town 0", ("currency",), ("town", "")),
        PoolChain("answer", "town 0", ("^capital",), ("town", "land")),
    )
    asked = replace(pool.questions[0], chains=around, chosen=(0, 1, 2))
    changed, num_kept = relabel_graphs(graphs, replace(pool, questions=(asked,)))
    assert num_kept == 0
    assert changed.is_positive.tolist() == [True, False, True, True]
