"""Metrics of answers and paths by hand."""

from __future__ import annotations

from math import comb, log2, sqrt
from typing import Any

import pytest
from lodestar.engine.evaluation import (
    Prediction,
    RetrievedPath,
    bootstrap_interval,
    compare_paired_scores,
    compute_answer_scores,
    compute_path_scores,
    compute_rog_scores,
    expected_calibration_error,
    judge_predictions,
    normalise_answer,
)
from lodestar.engine.gold_questions import GoldAnswer, GoldPath, GoldQuestion

GOLD_LIMA, GOLD_CUSCO, GOLD_PUNO = (GoldAnswer(None, (name,)) for name in ("Lima", "Cusco", "Puno"))


def predicted(*names: str) -> list[Prediction]:
    return [Prediction(name) for name in names]


STRICT = ("hits_at_1", "hit", "precision", "recall", "f1", "exact_match")


def strict(predictions: list[Prediction], gold: list[GoldAnswer]) -> tuple[float, ...]:
    scores = compute_answer_scores(predictions, gold)
    return tuple(scores[f"strict/{name}"] for name in STRICT)


def test_scores_by_hand() -> None:
    # r = 2 of p = 4 predictions, g = 3 gold answers: P 1/2, R 2/3, F1 4/7; the first is wrong, ranks 2 and 4 are right.
    predictions, gold = predicted("Quito", "Lima", "Bogotá", "Cusco"), [GOLD_LIMA, GOLD_CUSCO, GOLD_PUNO]
    assert strict(predictions, gold) == pytest.approx((0, 1, 1 / 2, 2 / 3, 4 / 7, 0))
    scores = compute_answer_scores(predictions, gold)
    assert scores["mrr"] == 1 / 2
    # DCG = 1/log2(3) + 1/log2(5); the ideal has three relevant ones: 1 + 1/log2(3) + 1/2.
    assert scores["ndcg@10"] == pytest.approx((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2))


def test_conventions_for_nothing() -> None:
    for score in (compute_answer_scores, compute_rog_scores):
        assert set(score([], []).values()) == {1.0}
        assert set(score(predicted("Lima"), []).values()) == {0.0}
        assert set(score([], [GOLD_LIMA]).values()) == {0.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The_Lord  of the Rings", "lord of rings"),
        ("U.S.A.", "usa"),
        ("O'Brien, Ａｎｎ", "obrien ann"),
        ("Straße", "strasse"),
        ("1.5", "1.5"),
        ("1,000", "1000"),
        ("北京", "北京"),
        ("The The", "the the"),
        ("!!!", "!!!"),
        ("  ", ""),
    ],
)
def test_normalised(text: str, expected: str) -> None:
    assert normalise_answer(text) == expected


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        (Prediction("Lima"), GoldAnswer("m.1"), False),
        (Prediction(""), GoldAnswer(None, ("Lima",)), False),
    ],
)
def test_one_prediction_and_one_answer(predicted: Prediction, gold: GoldAnswer, expected: bool) -> None:
    assert judge_predictions([predicted], [gold]) == (expected,)


@pytest.mark.timeout(10)
def test_many_predictions_of_one_name_are_matched_fast() -> None:
    gold = [GoldAnswer(None, ("same", f"own {i}")) for i in range(600)]
    predictions = [Prediction("same", f"m.{i}") for i in range(6000)]
    assert judge_predictions(predictions, gold) == (True,) * 600 + (False,) * 5400


PERU, LIMA, CUSCO, SOL = (Prediction(name, f"m.{name}") for name in ("Peru", "Lima", "Cusco", "Sol"))
CITIES = RetrievedPath(("city",), (LIMA, CUSCO, SOL))
CAPITAL = RetrievedPath(("capital",), (LIMA,))
CURRENCY = RetrievedPath(("country", "currency"), (SOL,))
FOUND = [CITIES, CAPITAL, CURRENCY]
GOLD = [GoldAnswer("m.Lima"), GoldAnswer(None, ("cusco",)), GoldAnswer("m.Puno")]


def figures(retrieved: list[RetrievedPath], gold: list[GoldAnswer], **more: Any) -> dict[str, float]:
    found = compute_path_scores(retrieved, GoldQuestion("q", "?", tuple(gold), **more))
    return {name.removeprefix("path/"): value for name, value in found.items()}


def test_hits_at_1_of_paths() -> None:
    # Two of the three ends of the first path are gold.
    scores = figures(FOUND, GOLD)
    assert scores["hits_at_1_any"] == 1
    assert scores["hits_at_1_expected"] == pytest.approx(2 / 3)
    scores = figures([CURRENCY, CITIES], GOLD)
    assert scores["hits_at_1_any"] == scores["hits_at_1_expected"] == 0


def test_hits_and_recall_by_number_of_paths() -> None:
    scores = figures([CURRENCY, CURRENCY, CURRENCY, CAPITAL, CITIES], GOLD)
    assert [scores[f"hits_any@{k}"] for k in (3, 5, 7)] == [0, 1, 1]
    assert [scores[f"answer_recall@{k}"] for k in (1, 3, 5, 10)] == [0, 0, 2 / 3, 2 / 3]


def test_the_first_path_is_right_by_its_relations_or_by_all_its_ends() -> None:
    def right(path: RetrievedPath, gold: list[GoldAnswer], relation: str) -> float:
        return figures([path], gold, paths=(GoldPath((relation,)),))["first_path_right"]

    assert right(CITIES, GOLD, "city") == 1
    assert right(CAPITAL, [GoldAnswer("m.Lima")], "other") == 1
    assert right(CITIES, [GoldAnswer("m.Lima")], "other") == 0  # two ends too many
    assert right(CAPITAL, GOLD, "other") == 0  # two answers are missing


def test_paths_are_compared_by_their_relations() -> None:
    capital = (GoldPath(("capital",)), GoldPath(("capital",), ("Peru", "Lima")))
    gold = (*capital, GoldPath(("country", "currency")), GoldPath(("currency", "country")))
    scores = figures(FOUND, GOLD, paths=gold)
    assert [scores[f"path_recall@{k}"] for k in (1, 2, 3)] == [0, 1 / 3, 2 / 3]
    assert [scores[f"gold_path_hit@{k}"] for k in (1, 2, 3)] == [0, 1, 1]


@pytest.mark.parametrize(
    ("given", "gold", "expected"),  # hit, precision, recall
    [
        ("The capital is Lima.", "Lima", (1, 1, 1)),
        ("Lima, Cusco, Puno", "Lima|Cusco|Puno|Tacna", (1, 1, 3 / 4)),
        ("Peruvian", "Peru|Peruvian|Uvi", (1, 1, 1)),  # a part of a word counts, as in the authors' code
        ("Quito|the Lima", "a Lima|Cusco", (1, 1 / 2, 1 / 2)),
        ("New|York", "New York", (1, 1 / 2, 1)),
        ("Quito", "Lima", (0, 0, 0)),
        ("J. R. R. Tolkien", "JRR Tolkien|J R R Tolkien", (1, 1, 1 / 2)),
        ("Lima|Lima", "Lima", (1, 1 / 2, 1)),
    ],
)
def test_the_substring_rule_by_hand(given: str, gold: str, expected: tuple[float, ...]) -> None:
    scores = compute_rog_scores(predicted(*given.split("|")), [GoldAnswer(None, (name,)) for name in gold.split("|")])
    assert tuple(scores[f"rog/{name}"] for name in ("hit", "precision", "recall")) == pytest.approx(expected)


# Confidences, intervals and the paired test by hand and against what theory says.

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
    paired = compare_paired_scores([1.0] * 5 + [0.5] * 3, [0.0] * 5 + [0.5] * 3)
    assert paired.p_value == 2 / 32
    assert (paired.difference, paired.num_won, paired.num_lost, paired.num_tied) == (5 / 8, 5, 0, 3)
    # Differences .3, .2 and −.1 sum to .4: |sum| is at least that for +++, ++− and their mirror images.
    assert compare_paired_scores([0.3, 0.2, 0.0], [0.0, 0.0, 0.1]).p_value == 4 / 8
    # .1 + .2 − .4 is the smallest sum there is, but for rounding.
    assert compare_paired_scores([0.1, 0.2, 0.0], [0.0, 0.0, 0.4]).p_value == 1.0


def test_many_differences_are_tested_by_chance() -> None:
    # 30 wins, 10 losses: the sign test, P(X ≤ 10 or X ≥ 30), X ~ Binomial(40, ½).
    exact = 2 * sum(comb(40, i) for i in range(11)) / 2**40
    paired = compare_paired_scores([1.0] * 30 + [0.0] * 10, [0.0] * 30 + [1.0] * 10, num_samples=200_000)
    assert paired.p_value == pytest.approx(exact, rel=0.15)
    assert paired.interval.low < 0.5 < paired.interval.high
