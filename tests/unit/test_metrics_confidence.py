"""Calibration and abstention by hand."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from lodestar.engine.evaluation.metrics.abstention import AbstentionScores, abstention_scores
from lodestar.engine.evaluation.metrics.calibration import expected_calibration_error, reliability

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
