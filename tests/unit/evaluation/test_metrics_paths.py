"""Path figures by hand."""

from __future__ import annotations

import pytest
from lodestar.engine.evaluation.metrics.answers import Prediction
from lodestar.engine.evaluation.metrics.paths import (
    RetrievedPath,
    answer_recall_at_k,
    first_path_right,
    gold_path_hit_at_k,
    hits_any_at_k,
    hits_at_1_any,
    hits_at_1_expected,
    path_recall_at_k,
    triple_recall_at_k,
)
from lodestar.engine.gold_questions import GoldAnswer, GoldPath

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


def test_an_unnamed_mediator_is_known_by_its_id_only() -> None:
    record = Prediction("", "m.0x")
    path = RetrievedPath(("r",), (LIMA,), ((record, "r", LIMA),))
    assert triple_recall_at_k([path], [("m.0x", "r", "Lima"), ("", "r", "Lima")], 1) == 1 / 2


def test_conventions_for_nothing() -> None:
    for figure in (hits_at_1_any, hits_at_1_expected):
        assert (figure([], []), figure(FOUND, []), figure([], GOLD)) == (1, 0, 0)
        assert figure([RetrievedPath(("r",), ())], GOLD) == 0
    assert (answer_recall_at_k([], [], 1), answer_recall_at_k(FOUND, [], 1), answer_recall_at_k([], GOLD, 1)) == (
        1,
        0,
        0,
    )
    assert path_recall_at_k([], [GoldPath(("r",))], 1) == triple_recall_at_k([], [("a", "r", "b")], 1) == 0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one gold path"):
        path_recall_at_k(FOUND, [], 1)
    with pytest.raises(ValueError, match="at least one gold path"):
        gold_path_hit_at_k(FOUND, [], 1)
    with pytest.raises(ValueError, match="at least one gold triple"):
        triple_recall_at_k(FOUND, [], 1)
    with pytest.raises(ValueError, match="k of at least 1"):
        answer_recall_at_k(FOUND, GOLD, 0)
