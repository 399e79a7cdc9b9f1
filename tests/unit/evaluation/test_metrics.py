"""Metrics of answers and paths by hand, and the substring rule against a reference of its own."""

from __future__ import annotations

import re
import string
from math import log2

import pytest
from lodestar.engine.evaluation.metrics import (
    ALL_RIGHT,
    ALL_WRONG,
    AnswerScores,
    Prediction,
    Ranking,
    RetrievedPath,
    answer_recall_at_k,
    distinct_gold,
    first_path_right,
    gold_path_hit_at_k,
    hits_any_at_k,
    hits_at_1_any,
    hits_at_1_expected,
    match_predictions,
    ndcg_at_k,
    normalise_answer,
    path_recall_at_k,
    reciprocal_rank,
    rog_scores,
    strict_scores,
    triple_recall_at_k,
)
from lodestar.engine.gold_questions import GoldAnswer, GoldPath

GOLD_LIMA, GOLD_CUSCO, GOLD_PUNO = (GoldAnswer(None, (name,)) for name in ("Lima", "Cusco", "Puno"))


def predicted(*names: str) -> list[Prediction]:
    return [Prediction(name) for name in names]


def test_scores_by_hand() -> None:
    # r = 2 of p = 4 predictions, g = 3 gold answers: P 1/2, R 2/3, F1 4/7; the first is wrong.
    scores = strict_scores(predicted("Quito", "Lima", "Bogotá", "Cusco"), [GOLD_LIMA, GOLD_CUSCO, GOLD_PUNO])
    assert scores == AnswerScores(0.0, 1.0, 1 / 2, 2 / 3, 4 / 7, 0.0)


def test_a_repeated_prediction_costs_precision() -> None:
    assert strict_scores(predicted("Lima", "Lima"), [GOLD_LIMA]) == AnswerScores(1.0, 1.0, 1 / 2, 1.0, 2 / 3, 0.0)


def test_conventions_for_nothing() -> None:
    assert strict_scores([], []) == ALL_RIGHT
    assert strict_scores(predicted("Lima"), []) == ALL_WRONG
    assert strict_scores([], [GOLD_LIMA]) == ALL_WRONG


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The_Lord  of the Rings", "lord of rings"),
        ("U.S.A.", "usa"),
        ("O'Brien, Ａｎｎ", "obrien ann"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("C++", "c++"),
        ("1.5", "1.5"),
        ("-5", "-5"),
        ("1,000", "1000"),
        ("2010-2011", "20102011"),
        ("End of 5.", "end of 5"),
        ("北京", "北京"),
        ("The The", "the the"),
        ("!!!", "!!!"),
        ("A", "a"),
        ("_", "_"),
        ("  ", ""),
    ],
)
def test_normalised(text: str, expected: str) -> None:
    assert normalise_answer(text) == expected


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        (Prediction("x", "m.1"), GoldAnswer("m.1", ("Lima",)), True),
        (Prediction("Lima", "m.2"), GoldAnswer("m.1", ("Lima",)), False),
        (Prediction("LIMA"), GoldAnswer("m.1", ("Lima",)), True),
        (Prediction("the city of kings", "m.1"), GoldAnswer(None, ("Lima", "City of Kings")), True),
        (Prediction("Lima"), GoldAnswer("m.1"), False),
        (Prediction("Lim"), GoldAnswer(None, ("Lima",)), False),
        (Prediction(""), GoldAnswer(None, ("Lima",)), False),
    ],
)
def test_one_prediction_and_one_answer(predicted: Prediction, gold: GoldAnswer, expected: bool) -> None:
    assert match_predictions([predicted], [gold]) == (expected,)


def test_gold_answers_given_twice_count_once_with_all_their_names() -> None:
    gold = [GoldAnswer("m.1", ("Lima",)), GoldAnswer(None, ("Sol",)), GoldAnswer("m.1", ("Ciudad",))]
    assert distinct_gold([*gold, GoldAnswer(None, ("sol",))]) == (
        GoldAnswer("m.1", ("Lima", "Ciudad")),
        GoldAnswer(None, ("Sol", "sol")),
    )


@pytest.mark.timeout(10)
def test_many_predictions_of_one_name_are_matched_fast() -> None:
    gold = [GoldAnswer(None, ("same", f"own {i}")) for i in range(600)]
    predictions = [Prediction("same", f"m.{i}") for i in range(6000)]
    assert match_predictions(predictions, gold) == (True,) * 600 + (False,) * 5400


PERU, LIMA, CUSCO, SOL = (Prediction(name, f"m.{name}") for name in ("Peru", "Lima", "Cusco", "Sol"))
CITIES = RetrievedPath(("city",), (LIMA, CUSCO, SOL), ((PERU, "city", LIMA), (PERU, "city", CUSCO)))
CAPITAL = RetrievedPath(("capital",), (LIMA,), ((PERU, "capital", LIMA),))
CURRENCY = RetrievedPath(("country", "currency"), (SOL,), ((LIMA, "country", PERU), (PERU, "currency", SOL)))
FOUND = [CITIES, CAPITAL, CURRENCY]
GOLD = [GoldAnswer("m.Lima"), GoldAnswer(None, ("cusco",)), GoldAnswer("m.Puno")]


def test_hits_at_1_of_paths() -> None:
    # Two of the three ends of the first path are gold.
    assert hits_at_1_any(FOUND, GOLD) == 1
    assert hits_at_1_expected(FOUND, GOLD) == pytest.approx(2 / 3)
    assert hits_at_1_any([CURRENCY, CITIES], GOLD) == hits_at_1_expected([CURRENCY, CITIES], GOLD) == 0


def test_hits_by_number_of_paths() -> None:
    assert [hits_any_at_k([CURRENCY, CAPITAL, CITIES], GOLD, k) for k in (1, 2, 3, 9)] == [0, 1, 1, 1]
    assert hits_any_at_k([], GOLD, 3) == 0
    assert hits_any_at_k([], [], 3) == 1


def test_the_first_path_is_right_by_its_relations_or_by_all_its_ends() -> None:
    other = [GoldPath(("other",))]
    assert first_path_right([CITIES], GOLD, [GoldPath(("city",))]) == 1
    assert first_path_right([CAPITAL], [GoldAnswer("m.Lima")], other) == 1
    assert first_path_right([CITIES], [GoldAnswer("m.Lima")], other) == 0  # two ends too many
    assert first_path_right([CAPITAL], GOLD, other) == 0  # two answers are missing
    assert first_path_right([], GOLD, other) == 0


def test_answer_recall() -> None:
    assert [answer_recall_at_k([CURRENCY, CAPITAL, CITIES], GOLD, k) for k in (1, 2, 3, 9)] == [0, 1 / 3, 2 / 3, 2 / 3]


def test_paths_are_compared_by_their_relations() -> None:
    gold = [
        GoldPath(("capital",)),
        GoldPath(("capital",), ("Peru", "Lima")),
        GoldPath(("country", "currency")),
        GoldPath(("currency", "country")),
    ]
    assert [path_recall_at_k(FOUND, gold, k) for k in (1, 2, 3)] == [0, 1 / 3, 2 / 3]
    assert [gold_path_hit_at_k(FOUND, gold, k) for k in (1, 2, 3)] == [0, 1, 1]


def test_triples_are_compared_by_id_or_name() -> None:
    gold = [
        ("m.Peru", "capital", "m.Lima"),
        ("Peru", "currency", "m.Sol"),
        ("Lima", "capital", "Peru"),
        ("Peru", "city", "Puno"),
    ]
    assert [triple_recall_at_k(FOUND, gold, k) for k in (1, 2, 3)] == [0, 1 / 4, 2 / 4]


def test_conventions_for_paths() -> None:
    for figure in (hits_at_1_any, hits_at_1_expected):
        assert (figure([], []), figure(FOUND, []), figure([], GOLD)) == (1, 0, 0)
        assert figure([RetrievedPath(("r",), ())], GOLD) == 0
    assert (answer_recall_at_k([], [], 1), answer_recall_at_k(FOUND, [], 1), answer_recall_at_k([], GOLD, 1)) == (
        1,
        0,
        0,
    )
    assert path_recall_at_k([], [GoldPath(("r",))], 1) == triple_recall_at_k([], [("a", "r", "b")], 1) == 0


# Relevant at ranks 2 and 4, a third relevant thing is not ranked.
RANKING = Ranking((False, True, False, True), 3)


def test_reciprocal_rank_by_hand() -> None:
    assert reciprocal_rank(RANKING) == 1 / 2


def test_ndcg_by_hand() -> None:
    # At 2: DCG = 1/log2(3); the ideal has two relevant ones: 1 + 1/log2(3). At 4 the ideal has three.
    assert ndcg_at_k(RANKING, 2) == pytest.approx(1 / log2(3) / (1 + 1 / log2(3)))
    assert ndcg_at_k(RANKING, 4) == pytest.approx((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2))
    assert ndcg_at_k(RANKING, 4) == pytest.approx(0.49819, abs=1e-5)


def test_nothing_relevant_is_right_where_nothing_was_ranked() -> None:
    for ranking, expected in [(Ranking((), 0), 1.0), (Ranking((False,), 0), 0.0), (Ranking((), 2), 0.0)]:
        assert ndcg_at_k(ranking, 1) == expected
        assert reciprocal_rank(ranking) == expected


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
    assert ours.hit == hit
    assert ours.recall == pytest.approx(recall)
    assert ours.precision == pytest.approx(min(precision, 1))
    assert ours.f1 == pytest.approx(min(f1, 1))


def test_any_name_matches_and_an_id_where_there_is_none() -> None:
    assert rog_scores([Prediction("City of Kings")], [GoldAnswer("m.1", ("Lima", "City of Kings"))]) == ALL_RIGHT
    assert rog_scores([Prediction("m.1")], [GoldAnswer("m.1")]) == ALL_RIGHT
    assert rog_scores([Prediction("Quito", "m.1")], [GoldAnswer("m.1", ("Lima",))]) == ALL_WRONG
