"""Confidences, intervals and the paired test by hand and against what theory says."""

from __future__ import annotations

from math import comb, sqrt

import pytest
from lodestar.engine.evaluation import bootstrap_interval, compare_pairs, expected_calibration_error

CONFIDENCES = [0.0, 0.1, 0.5, 0.75, 1.0]
RIGHT = [False, True, True, False, True]


def test_ece_by_hand() -> None:
    # 2/5 · |.5 − .05| + 1/5 · |1 − .5| + 2/5 · |.5 − .875|
    assert expected_calibration_error(CONFIDENCES, RIGHT, num_bins=4) == pytest.approx(0.18 + 0.1 + 0.15)


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
