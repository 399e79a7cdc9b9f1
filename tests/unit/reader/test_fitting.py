"""What the reader is fitted on and by, held against the formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from lodestar.models.reader import (
    NAMES,
    Reader,
    SourceChainColumns,
    SourceWeights,
    choose_answer_count,
)
from lodestar.models.reader.fitting import (
    ReaderTrainingSet,
    compute_reader_figures,
)

BY_CHAIN = SourceWeights(tuple(float(name == "last") for name in NAMES), 0.0)
"""Weights with which the best score of a candidate's ways is its logit."""


@dataclass(frozen=True)
class Asked:
    """A question: the scores of the ways to each candidate, which candidates are right, and how many answers are."""

    scores: Sequence[Sequence[float]]
    right: Sequence[bool] = ()
    num_right: int = 1


def columns(questions: Sequence[Asked]) -> SourceChainColumns:
    """Each way is a chain of one hop with one end."""
    of = [(q, c) for q, each in enumerate(questions) for c in range(len(each.scores))]
    ways = [(q, row, score) for row, (q, c) in enumerate(of) for score in questions[q].scores[c]]
    question, candidate, score = (
        (np.array(each) for each in zip(*ways, strict=True)) if ways else [np.zeros(0, int)] * 3
    )
    scores = score.astype(np.float64)
    return made_columns(
        len(questions),
        question,
        score=scores,
        candidate=candidate,
        chain=np.arange(len(ways)),
        last=scores,
        stops=np.zeros(len(ways), dtype=np.int64),
        num_candidates=len(of),
    )


def made_columns(num_questions: int, question: np.ndarray, **given: Any) -> SourceChainColumns:
    """Chains of one hop with one end, whose scores are nought, and no ways, but for what is given."""
    num, none, whole = len(question), np.zeros(0), np.zeros(0, dtype=np.int64)
    ones, zeros = np.ones(num, dtype=np.int64), np.zeros(num)
    made: dict[str, Any] = {
        "question": question, "topic": 0 * ones, "hops": ones, "score": zeros, "num_ends": ones,
        "similarity": zeros, "candidate": whole, "chain": whole, "last": none, "stops": whole,
        "path": np.zeros((num, 1), dtype=np.int64), "hop_vectors": np.ones((1, 4), dtype=np.float32), "plan": none,
        "num_topics": np.ones(num_questions, dtype=np.int64),
        "num_candidates": 0,
    }  # fmt: skip
    return SourceChainColumns(**made | given)


def make_readings(*questions: Asked, beside: Sequence[Asked] = ()) -> ReaderTrainingSet:
    """A set with one source, or with another that found `beside`."""
    sources = [("a", "triple", columns(questions)), *([("b", "triple", columns(beside))] if beside else [])]
    return ReaderTrainingSet(
        "made",
        "questions",
        "graph",
        tuple(f"q{n}" for n in range(len(questions))),
        (frozenset(),) * len(questions),
        np.ones((len(questions), 2), dtype=np.float32),
        np.cumsum([0, *(len(each.scores) for each in questions)]),
        np.array([right for each in questions for right in each.right], dtype=np.bool_),
        np.array([each.num_right for each in questions]),
        tuple(sources),
    )


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


QUESTIONS = (
    Asked([[3.0], [2.5], [-9.0]], [True, True, True], num_right=4),  # two are answered
    Asked([]),
    Asked([[3.0], [-3.0]], [True, False]),
    Asked([[40.0]], [False]),
    Asked([[logit(0.43)]], [True]),
    Asked([[logit(0.47)]], [False]),
)


def test_figures_by_hand() -> None:
    reader = Reader({"a": BY_CHAIN, "b": replace(BY_CHAIN, share=0.0)}, trained=True)
    nothing = [Asked([[]] * len(each.scores)) for each in QUESTIONS]
    readings = make_readings(*QUESTIONS, beside=nothing)
    f1 = (4 / 6 + 1 + 1) / 6
    assert compute_reader_figures(readings, reader) == pytest.approx({"f1": f1, "hits_at_1": 3 / 6})


def test_the_number_of_answers_by_hand() -> None:
    """Of .9, .5 and .2: 1.8 / 2.6, 2.8 / 3.6 and 3.2 / 4.6. What is less likely than .005 does not count."""
    assert choose_answer_count(np.array([0.9, 0.5, 0.2, *[0.004] * 500])) == 2
    assert choose_answer_count(np.array([0.9, 0.2, 0.1])) == 1
    assert choose_answer_count(np.array([0.9, 0.9, 0.8])) == 3
    assert choose_answer_count(np.zeros(0)) == 0
