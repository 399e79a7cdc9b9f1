"""The set with the highest expected F1, against every set and every outcome tried."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lodestar.models.reader import choose_answer_count, expected_f1

probabilities = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5).map(lambda p: np.sort(np.array(p))[::-1])


def brute(p: np.ndarray, chosen: tuple[int, ...]) -> float:
    """Expected F1 of a set, by all outcomes."""
    total = 0.0
    for outcome in product((0, 1), repeat=len(p)):
        weight = np.prod([q if right else 1 - q for q, right in zip(p, outcome, strict=True)])
        true = sum(outcome[place] for place in chosen)
        total += weight * (2 * true / (len(chosen) + sum(outcome)) if true else 0.0)
    return float(total)


@settings(max_examples=30)
@given(probabilities)
def test_the_expectation_is_that_of_all_outcomes(p: np.ndarray) -> None:
    assert expected_f1(p) == pytest.approx([brute(p, tuple(range(k))) for k in range(1, len(p) + 1)])


@settings(max_examples=30)
@given(probabilities)
def test_no_other_set_is_better(p: np.ndarray) -> None:
    best = max(brute(p, chosen) for k in range(1, len(p) + 1) for chosen in combinations(range(len(p)), k))
    assert brute(p, tuple(range(choose_answer_count(p)))) == pytest.approx(best)


def test_a_question_that_asks_for_one_thing_gets_one() -> None:
    p = np.array([0.9, 0.9, 0.8])
    assert choose_answer_count(p) == 3
    assert choose_answer_count(p, one=True) == 1
    assert choose_answer_count(np.zeros(0)) == 0
