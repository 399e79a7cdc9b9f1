"""Strict scores by hand."""

from __future__ import annotations

import pytest
from lodestar.engine.evaluation.metrics.answers import (
    ALL_RIGHT,
    ALL_WRONG,
    AnswerCounts,
    AnswerScores,
    Prediction,
    answer_counts,
    micro_f1,
    strict_scores,
)
from lodestar.engine.gold_questions import GoldAnswer

LIMA, CUSCO, PUNO = (GoldAnswer(None, (name,)) for name in ("Lima", "Cusco", "Puno"))


def predicted(*names: str) -> list[Prediction]:
    return [Prediction(name) for name in names]


def test_scores_by_hand() -> None:
    # r = 2 of p = 4 predictions, g = 3 gold answers: P 1/2, R 2/3, F1 4/7; the first is wrong.
    scores = strict_scores(predicted("Quito", "Lima", "Bogotá", "Cusco"), [LIMA, CUSCO, PUNO])
    assert scores == AnswerScores(0.0, 1.0, 1 / 2, 2 / 3, 4 / 7, 0.0)


def test_a_substring_is_not_the_answer() -> None:
    assert strict_scores(predicted("Lima and Cusco"), [LIMA, CUSCO]) == ALL_WRONG


def test_exact_match_is_of_sets() -> None:
    assert strict_scores(predicted("Cusco", "Lima"), [LIMA, CUSCO]) == ALL_RIGHT
    assert strict_scores(predicted("Cusco"), [LIMA, CUSCO]).exact_match == 0
    assert strict_scores(predicted("Cusco", "Lima", "Lima"), [LIMA, CUSCO]).exact_match == 0


def test_a_repeated_prediction_costs_precision() -> None:
    assert strict_scores(predicted("Lima", "Lima"), [LIMA]) == AnswerScores(1.0, 1.0, 1 / 2, 1.0, 2 / 3, 0.0)


def test_conventions_for_nothing() -> None:
    assert strict_scores([], []) == ALL_RIGHT
    assert strict_scores(predicted("Lima"), []) == ALL_WRONG
    assert strict_scores([], [LIMA]) == ALL_WRONG


def test_micro_f1_by_hand() -> None:
    counts = [
        answer_counts(predicted("Lima", "Quito"), [LIMA]),
        answer_counts([], [CUSCO, PUNO]),
        answer_counts([], []),
        answer_counts(predicted("Quito"), []),
    ]
    assert counts == [AnswerCounts(1, 2, 1), AnswerCounts(0, 0, 2), AnswerCounts(0, 0, 0), AnswerCounts(0, 1, 0)]
    assert micro_f1(counts) == pytest.approx(2 * 1 / (3 + 3))
    assert micro_f1([AnswerCounts(0, 0, 0)]) == 1.0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        micro_f1([])
    with pytest.raises(ValueError, match="num_right"):
        AnswerCounts(2, 1, 3)
