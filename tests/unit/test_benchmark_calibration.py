"""The fit of the confidence: what made the scores is found again, and graphs weigh the same."""

from __future__ import annotations

import numpy as np
import pytest
from lodestar.engine.evidence.calibration import sigmoid

from benchmarks.calibration import Scored, fitted, log_loss, rows, scored
from tests.unit.test_report import with_twins


def drawn(slope: float, intercept: float, num: int, seed: int) -> Scored:
    rng = np.random.default_rng(seed)
    scores = rng.uniform(-1, 2, num)
    right = rng.random(num) < [sigmoid(slope * score + intercept) for score in scores]
    return Scored(scores, right, np.arange(num) % 2 == 1)


def test_what_made_the_judgements_is_found_again() -> None:
    found = fitted({"a": drawn(3, -2, 20_000, 0)})
    assert (found.slope, found.intercept) == (pytest.approx(3, abs=0.15), pytest.approx(-2, abs=0.15))


def test_a_graph_of_many_questions_weighs_no_more_than_one_of_few() -> None:
    few, many = drawn(3, -2, 2_000, 0), drawn(3, 1, 20_000, 1)
    found = fitted({"few": few, "many": many})
    likened = fitted({"few": few, "many": drawn(3, 1, 2_000, 2)})
    assert found.intercept == pytest.approx(likened.intercept, abs=0.25)


def test_log_loss_by_hand() -> None:
    assert log_loss(np.array([0.5, 0.25]), np.array([True, False])) == pytest.approx(-np.log([0.5, 0.75]).mean())


def test_records_are_read_as_they_were_judged() -> None:
    found = scored(with_twins().records)
    # The second's path leads to what is right, though its answer is not; the last question got no path.
    assert found.right.tolist() == [True, True, False]
    assert found.unanswerable.tolist() == [False, False, True]
    assert len(list(rows({"graph": drawn(3, -2, 100, 3)}, fitted({"a": drawn(3, -2, 500, 4)})))) == 2
