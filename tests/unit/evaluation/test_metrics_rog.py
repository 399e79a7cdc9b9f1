"""The substring rule against a reference of its own, written from the formula and unclipped."""

from __future__ import annotations

import re
import string

import pytest
from lodestar.engine.evaluation.metrics.answers import ALL_RIGHT, ALL_WRONG, Prediction, rog_scores, strict_scores
from lodestar.engine.gold_questions import GoldAnswer


def plain(text: str) -> str:
    letters = [char for char in text.lower() if char not in string.punctuation]
    return re.sub(r"\s+", " ", re.sub(r"\b(a|an|the)\b", " ", "".join(letters))).strip()


def reference(predictions: list[str], gold: list[str]) -> tuple[float, float, float, float]:
    """Return Hit, precision, recall and F1."""
    found = [answer for answer in gold if plain(answer) in plain(" ".join(predictions))]
    precision, recall = len(found) / len(predictions), len(found) / len(gold)
    f1 = 2 / (1 / precision + 1 / recall) if found else 0.0
    return float(bool(found)), precision, recall, f1


CASES = [
    (["Lima"], ["Lima"]),
    (["The capital is Lima."], ["Lima"]),
    (["Lima and Cusco"], ["Lima", "Cusco"]),
    (["Lima, Cusco, Puno"], ["Lima", "Cusco", "Puno", "Tacna"]),
    (["Peruvian"], ["Peru", "Peruvian", "Uvi"]),
    (["Quito", "the Lima"], ["a Lima", "Cusco"]),
    (["New", "York"], ["New York"]),
    (["Quito"], ["Lima"]),
    (["Quito"], ["The The"]),
    (["J. R. R. Tolkien"], ["JRR Tolkien", "J R R Tolkien"]),
    (["Lima", "Lima"], ["Lima"]),
    (["Lima"], ["Lima", "Lima"]),
]


@pytest.mark.parametrize(("predictions", "gold"), CASES)
def test_agrees_with_the_reference_where_that_is_at_most_1_and_clips_above(
    predictions: list[str], gold: list[str]
) -> None:
    hit, precision, recall, f1 = reference(predictions, gold)
    ours = rog_scores([Prediction(name) for name in predictions], [GoldAnswer(None, (name,)) for name in gold])
    assert ours.scores.hit == hit
    assert ours.scores.recall == pytest.approx(recall)
    assert ours.scores.precision == pytest.approx(min(precision, 1))
    assert ours.scores.f1 == pytest.approx(min(f1, 1))
    assert ours.exceeded is (precision > 1 or f1 > 1)


def test_f1_of_the_reference_does_exceed_1() -> None:
    exceeding = [case for case in CASES if reference(*case)[3] > 1]
    assert (["Lima and Cusco"], ["Lima", "Cusco"]) in exceeding
    assert reference(["Lima and Cusco"], ["Lima", "Cusco"]) == pytest.approx((1, 2, 1, 4 / 3))
    # Precision 3, recall 3/4: F1 6/5.
    assert reference(["Lima, Cusco, Puno"], ["Lima", "Cusco", "Puno", "Tacna"])[3] == pytest.approx(6 / 5)


def test_precision_above_1_counts_in_an_f1_below_1() -> None:
    # Precision 2, recall 2/6: F1 4/7, where precision clipped first would give 1/2.
    gold = [GoldAnswer(None, (name,)) for name in ("Lima", "Cusco", "Puno", "Tacna", "Ica", "Piura")]
    ours = rog_scores([Prediction("Lima Cusco")], gold)
    assert (ours.scores.precision, ours.scores.f1) == pytest.approx((1, 4 / 7))
    assert ours.exceeded


def test_hits_at_1_is_of_the_first_prediction() -> None:
    gold = [GoldAnswer(None, ("Lima",))]
    assert rog_scores([Prediction("Quito"), Prediction("Lima")], gold).scores.hits_at_1 == 0
    assert rog_scores([Prediction("In Lima"), Prediction("Quito")], gold).scores.hits_at_1 == 1


def test_any_name_matches_and_an_id_where_there_is_none() -> None:
    assert rog_scores([Prediction("City of Kings")], [GoldAnswer("m.1", ("Lima", "City of Kings"))]).scores == ALL_RIGHT
    assert rog_scores([Prediction("m.1")], [GoldAnswer("m.1")]).scores == ALL_RIGHT
    assert rog_scores([Prediction("Quito", "m.1")], [GoldAnswer("m.1", ("Lima",))]).scores == ALL_WRONG


def test_more_generous_than_strict() -> None:
    predictions, gold = [Prediction("Lima, in Peru")], [GoldAnswer(None, ("Lima",))]
    assert strict_scores(predictions, gold) == ALL_WRONG
    assert rog_scores(predictions, gold).scores == ALL_RIGHT


def test_conventions_for_nothing() -> None:
    assert rog_scores([], []).scores == ALL_RIGHT
    assert rog_scores([Prediction("Lima")], []).scores == ALL_WRONG
    assert rog_scores([], [GoldAnswer(None, ("The The",))]).scores == ALL_WRONG
