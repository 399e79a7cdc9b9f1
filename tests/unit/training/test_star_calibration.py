"""What STAR's probabilities are fitted on, and what a checkpoint for any graph is."""

from __future__ import annotations

import math

import pytest
from lodestar.models.calibration import fit_calibration
from lodestar.models.star.training import mark_remaining_paths, relations_of

from tests.made.mined_examples import example_set


def test_without_the_relations_that_lead_to_its_answers() -> None:
    examples = example_set(0, 1)
    example = examples.examples[0]
    left = [
        examples.table.written[path] for path in example.reachable.paths[mark_remaining_paths(example, examples.table)]
    ]
    assert left == [
        ("currency_used",), ("currency_used", "^currency_used"), ("borders",), ("borders", "borders"), ("treaty → ^signed",),
    ]  # fmt: skip
    assert relations_of(("a → ^b", "^c")) == {"a", "b", "c"}


def test_probabilities_are_lower_where_some_have_no_answer() -> None:
    scored = [(3.0, 1.0), (2.0, 1.0), (1.0, 0.0), (0.0, 0.0), (2.5, 0.0)]
    assert fit_calibration(scored) == pytest.approx(fit_calibration(scored, [0.2] * 5))
    answered, all_ = fit_calibration(scored[:4]), fit_calibration(scored)

    def probability(fitted: tuple[float, float], score: float) -> float:
        return 1 / (1 + math.exp(-(fitted[0] * score + fitted[1])))

    assert all(probability(all_, score) < probability(answered, score) for score in (2.0, 2.5, 3.0))
