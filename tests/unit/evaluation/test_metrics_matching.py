"""When a prediction is right, by hand."""

from __future__ import annotations

import pytest
from lodestar.engine.evaluation.metrics.answers import Prediction, distinct_gold, match_predictions, normalise_answer
from lodestar.engine.gold_questions import GoldAnswer


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


def test_names_that_differ_stay_apart() -> None:
    for left, right in [("1.5", "15"), ("-5", "5"), ("C++", "C"), ("The The", "!!!"), ("The The", "The")]:
        assert normalise_answer(left) != normalise_answer(right)


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


def test_a_gold_answer_counts_for_one_prediction() -> None:
    lima = GoldAnswer("m.1", ("Lima",))
    assert match_predictions([Prediction("Lima"), Prediction("Lima", "m.1")], [lima]) == (True, False)
    assert match_predictions([Prediction("Lima", "m.1"), Prediction("Lima", "m.1")], [lima]) == (True, False)


def test_an_earlier_prediction_moves_to_another_answer_where_a_later_one_needs_its_own() -> None:
    gold = [GoldAnswer("m.1", ("Springfield",)), GoldAnswer("m.2", ("Springfield",))]
    assert match_predictions([Prediction("Springfield"), Prediction("?", "m.1")], gold) == (True, True)
    assert match_predictions([Prediction("Springfield"), Prediction("?", "m.1"), Prediction("?", "m.2")], gold) == (
        True,
        True,
        False,
    )


def test_a_chain_of_moves() -> None:
    gold = [GoldAnswer(None, ("a1", "b1")), GoldAnswer(None, ("a1", "c1")), GoldAnswer(None, ("b1",))]
    assert match_predictions([Prediction("a1"), Prediction("b1"), Prediction("c1")], gold) == (True, True, True)


def test_a_repeated_prediction_is_wrong_even_where_two_answers_have_the_name() -> None:
    gold = [GoldAnswer("m.1", ("Springfield",)), GoldAnswer("m.2", ("Springfield",))]
    assert match_predictions([Prediction("Springfield"), Prediction("springfield")], gold) == (True, False)


def test_gold_answers_given_twice_count_once_with_all_their_names() -> None:
    gold = [GoldAnswer("m.1", ("Lima",)), GoldAnswer(None, ("Sol",)), GoldAnswer("m.1", ("Ciudad",))]
    assert distinct_gold([*gold, GoldAnswer(None, ("sol",))]) == (
        GoldAnswer("m.1", ("Lima", "Ciudad")),
        GoldAnswer(None, ("Sol", "sol")),
    )


def test_nothing_against_nothing() -> None:
    assert match_predictions([], [GoldAnswer("m.1")]) == ()
    assert match_predictions([Prediction("Lima", "m.1")], []) == (False,)


@pytest.mark.timeout(10)
def test_many_predictions_of_one_name_are_matched_fast() -> None:
    gold = [GoldAnswer(None, ("same", f"own {i}")) for i in range(600)]
    predictions = [Prediction("same", f"m.{i}") for i in range(6000)]
    assert match_predictions(predictions, gold) == (True,) * 600 + (False,) * 5400
