"""The fit of the confidence: what made the scores is found again, and graphs weigh the same."""

from __future__ import annotations

import numpy as np
import pytest
from lodestar.engine.evaluation.metrics.confidence import expected_calibration_error
from lodestar.engine.evidence.calibration import sigmoid

from benchmarks.accuracy.calibration import Scored, fitted, log_loss, rows, scored, weighted_ece
from tests.unit.evaluation.test_report import with_twins


def drawn(slope: float, intercept: float, num: int, seed: int) -> Scored:
    rng = np.random.default_rng(seed)
    scores = rng.uniform(-1, 2, num)
    right = rng.random(num) < [sigmoid(slope * score + intercept) for score in scores]
    return Scored(scores, right, np.arange(num) % 2 == 1)


def test_what_made_the_judgements_is_found_again() -> None:
    found = fitted({"a": drawn(3, -2, 20_000, 0)}, 0.5)
    assert [found.slope, found.intercept] == pytest.approx([3, -2], abs=0.15)


def test_a_graph_of_many_questions_weighs_no_more_than_one_of_few() -> None:
    few, many = drawn(3, -2, 2_000, 0), drawn(3, 1, 20_000, 1)
    found = fitted({"few": few, "many": many}, 0.5)
    likened = fitted({"few": few, "many": drawn(3, 1, 2_000, 2)}, 0.5)
    assert found.intercept == pytest.approx(likened.intercept, abs=0.25)


def test_weighted_figures_by_hand() -> None:
    sure, right, weights = np.array([0.5, 0.25, 0.29]), np.array([True, False, True]), np.array([0.5, 0.3, 0.2])
    assert log_loss(sure, right, weights) == pytest.approx(-weights @ np.log([0.5, 0.75, 0.29]))
    assert weighted_ece(sure, right, weights) == pytest.approx(0.25 + abs(-0.3 * 0.25 + 0.2 * 0.71))
    evenly = np.full(3, 1 / 3)
    assert weighted_ece(sure, right, evenly) == pytest.approx(expected_calibration_error(sure, right))


def test_a_fifth_of_the_weight_is_of_questions_without_an_answer() -> None:
    found = Scored(np.zeros(6), np.ones(6, dtype=np.bool_), np.array([False] * 2 + [True] * 4)).weights(0.2)
    assert found.tolist() == pytest.approx([0.4, 0.4, 0.05, 0.05, 0.05, 0.05])


def test_records_are_read_as_they_were_judged() -> None:
    found = scored(with_twins().records)
    # The second's path leads to what is right, though its answer is not; the last question got no path.
    assert found.right.tolist() == [True, True, False]
    assert found.unanswerable.tolist() == [False, False, True]
    assert len(list(rows({"graph": drawn(3, -2, 100, 3)}, fitted({"a": drawn(3, -2, 500, 4)}, 0.2), 0.2))) == 2
