"""Intervals and the paired test by hand and against what theory says."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pytest
from lodestar.engine.evaluation.metrics.confidence import expected_calibration_error
from lodestar.engine.evaluation.metrics.uncertainty import (
    Interval,
    bootstrap_interval,
    bootstrap_ratio_interval,
    bootstrap_statistic_interval,
    compare_pairs,
    macro_by,
    means_by,
)


def test_equal_values_leave_no_doubt() -> None:
    assert bootstrap_interval([1.0] * 7) == Interval(1.0, 1.0)
    assert bootstrap_interval([0.0]) == Interval(0.0, 0.0)


def test_the_interval_of_a_share_is_the_binomial_one() -> None:
    # 300 of 1000: standard error √(.3 · .7 / 1000), 95 % within 1.96 of them.
    interval = bootstrap_interval([1.0] * 300 + [0.0] * 700, num_samples=20_000)
    half = 1.96 * sqrt(0.3 * 0.7 / 1000)
    assert interval.low == pytest.approx(0.3 - half, abs=0.003)
    assert interval.high == pytest.approx(0.3 + half, abs=0.003)


def test_clusters_widen_the_interval_where_their_questions_are_alike() -> None:
    # Ten questions of each of 50 topics, all right or all wrong: as sure as 50 questions, not 500.
    values = [float(topic % 2) for topic in range(50) for _ in range(10)]
    topics = [topic for topic in range(50) for _ in range(10)]
    clustered = bootstrap_interval(values, clusters=topics, num_samples=20_000)
    alone = bootstrap_interval([float(topic % 2) for topic in range(50)], num_samples=20_000)
    assert clustered == alone
    single = bootstrap_interval(values, num_samples=20_000)
    assert (clustered.high - clustered.low) / (single.high - single.low) == pytest.approx(sqrt(10), rel=0.1)


def test_clusters_of_one_are_no_clusters() -> None:
    values = [0.1, 0.5, 0.9, 0.4]
    assert bootstrap_interval(values, clusters=range(4)) == bootstrap_interval(values)


def test_a_ratio_weighs_questions_by_their_denominators() -> None:
    # Micro-F1 of (r, p, g) = (1, 1, 1) and (0, 9, 9): 0, .1 or 1 by which of the two are drawn.
    assert bootstrap_ratio_interval([2.0, 0.0], [2.0, 18.0]) == Interval(0.0, 1.0)
    middle = bootstrap_ratio_interval([2.0, 0.0], [2.0, 18.0], confidence=0.4)
    assert (middle.low, middle.high) == pytest.approx((0.1, 0.1))


def test_samples_without_a_denominator_are_left_out() -> None:
    assert bootstrap_ratio_interval([1.0, 0.0], [1.0, 0.0]) == Interval(1.0, 1.0)
    with pytest.raises(ValueError, match="all denominators are 0"):
        bootstrap_ratio_interval([0.0], [0.0])


def test_any_statistic() -> None:
    sure, right = np.array([0.9] * 80 + [0.9] * 20), np.array([True] * 80 + [False] * 20)
    interval = bootstrap_statistic_interval(
        lambda drawn: expected_calibration_error(sure[drawn], right[drawn]), len(sure), num_samples=500
    )
    assert 0 <= interval.low < 0.1 < interval.high < 0.25


def test_means_by_cluster() -> None:
    values, topics = [1.0, 0.0, 0.0, 0.0, 1.0], ["a", "b", "b", "b", "a"]
    assert means_by(values, topics) == {"a": 1.0, "b": 0.0}
    assert macro_by(values, topics) == 1 / 2


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


def test_p_is_never_0() -> None:
    assert compare_pairs([1.0] * 100, [0.0] * 100, num_samples=999).p_value == 1 / 1000


def test_no_difference_at_all() -> None:
    paired = compare_pairs([0.1 + 0.2], [0.3])
    assert (paired.p_value, paired.num_tied, paired.interval) == (1.0, 1, Interval(0.0, 0.0))
    assert compare_pairs([0.0], [1e-12]) == paired
    assert compare_pairs([0.0], [2e-12]).num_lost == 1
    assert compare_pairs([0.0], [2e-12]).p_value == 1.0


def test_the_clusters_of_a_paired_test_flip_together() -> None:
    # Twenty wins, all of two topics: 2 of the 2² flips.
    topics = [i % 2 for i in range(20)]
    assert compare_pairs([1.0] * 20, [0.0] * 20, clusters=topics).p_value == 2 / 4


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        bootstrap_interval([])
    with pytest.raises(ValueError, match="all finite"):
        bootstrap_interval([float("nan")])
    with pytest.raises(ValueError, match="confidence in"):
        bootstrap_interval([1.0], confidence=1.0)
    with pytest.raises(ValueError, match="at least one sample"):
        compare_pairs([1.0], [0.0], num_samples=0)
    with pytest.raises(ValueError, match="a cluster for each value"):
        bootstrap_interval([1.0], clusters=["a", "b"])
    with pytest.raises(ValueError, match="a cluster for each value"):
        macro_by([1.0], [])
    with pytest.raises(ValueError, match="at least one value"):
        macro_by([], [])
    with pytest.raises(ValueError, match="same questions, found 1 and 2"):
        compare_pairs([1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="at least one question"):
        bootstrap_statistic_interval(lambda drawn: 0.0, 0)
