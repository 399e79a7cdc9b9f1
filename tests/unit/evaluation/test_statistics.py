"""Confidences, intervals and the paired test by hand and against what theory says."""

from __future__ import annotations

from math import comb, sqrt

import pytest
from lodestar.engine.evaluation.statistics import (
    AbstentionScores,
    FalseAnswers,
    abstention_scores,
    bootstrap_interval,
    compare_pairs,
    expected_calibration_error,
    false_answers,
)

CONFIDENCES = [0.0, 0.1, 0.5, 0.75, 1.0]
RIGHT = [False, True, True, False, True]


def test_ece_by_hand() -> None:
    # 2/5 · |.5 − .05| + 1/5 · |1 − .5| + 2/5 · |.5 − .875|
    assert expected_calibration_error(CONFIDENCES, RIGHT, num_bins=4) == pytest.approx(0.18 + 0.1 + 0.15)


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


def test_false_answers_by_hand() -> None:
    # Right answers at .9, .8, .7, .6 and .1: four fifths of them are at .6 or above, and so is one of three false ones.
    confidences = [0.9, 0.8, 0.7, 0.6, 0.1, 0.65, 0.6, 0.5, None]
    right = [True] * 5 + [False] * 4
    unanswerable = [False] * 6 + [True] * 3
    assert false_answers(confidences, right, unanswerable) == FalseAnswers(0.8, 0.6, 3, 1)
    assert false_answers(confidences, right, unanswerable, kept=1.0) == FalseAnswers(1.0, 0.1, 3, 2)
    assert false_answers(confidences, [False] * 9, unanswerable) is None
    assert false_answers(confidences, right, [False] * 9) is None


def test_the_interval_of_a_share_is_the_binomial_one() -> None:
    # 300 of 1000: standard error √(.3 · .7 / 1000), 95 % within 1.96 of them.
    interval = bootstrap_interval([1.0] * 300 + [0.0] * 700, num_samples=20_000)
    half = 1.96 * sqrt(0.3 * 0.7 / 1000)
    assert interval.low == pytest.approx(0.3 - half, abs=0.003)
    assert interval.high == pytest.approx(0.3 + half, abs=0.003)


def test_few_differences_are_tested_exactly() -> None:
    # Five wins of one size and no loss: 2 of the 2⁵ sign flips are as extreme.
    paired = compare_pairs([1.0] * 5 + [0.5] * 3, [0.0] * 5 + [0.5] * 3)
    assert paired.p_value == 2 / 32
    assert (paired.difference, paired.num_won, paired.num_lost, paired.num_tied) == (5 / 8, 5, 0, 3)
    # Differences .3, .2 and −.1 sum to .4: |sum| is at least that for +++, ++− and their mirror images.
    assert compare_pairs([0.3, 0.2, 0.0], [0.0, 0.0, 0.1]).p_value == 4 / 8
    # .1 + .2 − .4 is the smallest sum there is, but for rounding.
    assert compare_pairs([0.1, 0.2, 0.0], [0.0, 0.0, 0.4]).p_value == 1.0


def test_many_differences_are_tested_by_chance() -> None:
    # 30 wins, 10 losses: the sign test, P(X ≤ 10 or X ≥ 30), X ~ Binomial(40, ½).
    exact = 2 * sum(comb(40, i) for i in range(11)) / 2**40
    paired = compare_pairs([1.0] * 30 + [0.0] * 10, [0.0] * 30 + [1.0] * 10, num_samples=200_000)
    assert paired.p_value == pytest.approx(exact, rel=0.15)
    assert paired.interval.low < 0.5 < paired.interval.high


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        bootstrap_interval([])
    with pytest.raises(ValueError, match="all finite"):
        bootstrap_interval([float("nan")])
    with pytest.raises(ValueError, match="confidence in"):
        bootstrap_interval([1.0], confidence=1.0)
    with pytest.raises(ValueError, match="at least one sample"):
        compare_pairs([1.0], [0.0], num_samples=0)
    with pytest.raises(ValueError, match="same questions, found 1 and 2"):
        compare_pairs([1.0], [1.0, 0.0])
