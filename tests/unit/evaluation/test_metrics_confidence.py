"""Calibration and abstention by hand."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from lodestar.engine.evaluation.metrics.confidence import (
    AbstentionScores,
    FalseAnswers,
    abstention_scores,
    expected_calibration_error,
    false_answers,
    reliability,
    risk_coverage,
)

CONFIDENCES = [0.0, 0.1, 0.5, 0.75, 1.0]
RIGHT = [False, True, True, False, True]


def test_reliability_by_hand() -> None:
    # The confidences are those of the bins [0, ¼), [½, ¾) and [¾, 1]; none is in [¼, ½).
    assert [astuple(b) for b in reliability(CONFIDENCES, RIGHT, num_bins=4)] == [
        (0.0, 0.25, 2, 0.05, 0.5),
        (0.5, 0.75, 1, 0.5, 1.0),
        (0.75, 1.0, 2, 0.875, 0.5),
    ]


def test_ece_by_hand() -> None:
    # 2/5 · |.5 − .05| + 1/5 · |1 − .5| + 2/5 · |.5 − .875|
    assert expected_calibration_error(CONFIDENCES, RIGHT, num_bins=4) == pytest.approx(0.18 + 0.1 + 0.15)


def test_ece_at_its_ends() -> None:
    assert expected_calibration_error([1.0, 0.0], [True, False]) == 0
    assert expected_calibration_error([1.0, 0.0], [False, True]) == 1


def test_a_confidence_at_an_edge_is_in_the_bin_above_whatever_its_rounding() -> None:
    assert [(b.low, b.high) for b in reliability([0.29], [True], num_bins=100)] == [(0.29, 0.3)]


@pytest.mark.parametrize(
    ("confidences", "right", "num_bins"),
    [([], [], 10), ([0.5], [True, False], 10), ([1.1], [True], 10), ([float("nan")], [True], 10), ([0.5], [True], 0)],
)
def test_what_is_no_confidence_is_refused(confidences: list[float], right: list[bool], num_bins: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        expected_calibration_error(confidences, right, num_bins)


def test_abstention_by_hand() -> None:
    abstained = [True, True, True, False, False]
    unanswerable = [True, False, False, True, False]
    assert abstention_scores(abstained, unanswerable) == AbstentionScores(1 / 3, 1 / 2, 1, 3, 2)


def test_abstention_where_there_is_none() -> None:
    assert abstention_scores([False], [False]) == AbstentionScores(1.0, 1.0, 0, 0, 0)
    assert abstention_scores([False], [True]) == AbstentionScores(0.0, 0.0, 0, 0, 1)
    assert abstention_scores([True], [False]) == AbstentionScores(0.0, 0.0, 0, 1, 0)
    with pytest.raises(ValueError, match="found 1 and 0"):
        abstention_scores([True], [])


def test_risk_and_coverage_by_hand() -> None:
    # Five questions, one not answered; two answers are as sure as each other.
    curve = risk_coverage([0.9, 0.5, None, 0.5, 0.2], [True, False, False, True, False])
    assert curve.confidence.tolist() == [0.9, 0.5, 0.2]
    assert curve.coverage.tolist() == pytest.approx([0.2, 0.6, 0.8])
    assert curve.risk.tolist() == pytest.approx([0, 1 / 3, 1 / 2])
    assert curve.area == pytest.approx((1 * 0 + 2 * 1 / 3 + 1 * 1 / 2) / 4)
    assert [curve.risk_at(share) for share in (0.2, 0.21, 0.6, 0.8, 0.81)] == pytest.approx(
        [0, 1 / 3, 1 / 3, 1 / 2, None]
    )


def test_nothing_answered_risks_nothing() -> None:
    curve = risk_coverage([None, None], [False, False])
    assert (curve.area, curve.risk_at(0.1), len(curve.risk)) == (0.0, None, 0)


@pytest.mark.parametrize(("confidences", "right"), [([], []), ([0.5], []), ([float("nan")], [True])])
def test_a_curve_of_nothing_or_of_no_number_is_refused(confidences: list[float], right: list[bool]) -> None:
    with pytest.raises(ValueError, match="expected"):
        risk_coverage(confidences, right)


def test_false_answers_by_hand() -> None:
    # Right answers at .9, .8, .7, .6 and .1: four fifths of them are at .6 or above, and so is one of three false ones.
    confidences = [0.9, 0.8, 0.7, 0.6, 0.1, 0.65, 0.6, 0.5, None]
    right = [True] * 5 + [False] * 4
    unanswerable = [False] * 6 + [True] * 3
    assert false_answers(confidences, right, unanswerable) == FalseAnswers(0.8, 0.6, 3, 1)
    assert false_answers(confidences, right, unanswerable, kept=1.0) == FalseAnswers(1.0, 0.1, 3, 2)
    assert false_answers(confidences, [False] * 9, unanswerable) is None
    assert false_answers(confidences, right, [False] * 9) is None
