"""Ranking figures by hand."""

from __future__ import annotations

from math import log2

import pytest
from lodestar.engine.evaluation.metrics.answers import Prediction
from lodestar.engine.evaluation.metrics.paths import Ranking, answer_ranking, ndcg_at_k, reciprocal_rank
from lodestar.engine.gold_questions import GoldAnswer

# Relevant at ranks 2 and 4, a third relevant thing is not ranked.
RANKING = Ranking((False, True, False, True), 3)


def test_by_hand() -> None:
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


def test_answers_as_a_ranking_keep_their_order() -> None:
    gold = [GoldAnswer(None, ("Lima",)), GoldAnswer(None, ("lima",)), GoldAnswer(None, ("Sol",))]
    predictions = [Prediction("Quito"), Prediction("Lima"), Prediction("Lima")]
    assert answer_ranking(predictions, gold) == Ranking((False, True, False), 2)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 1 relevant places, found 2"):
        Ranking((True, True), 1)
    with pytest.raises(ValueError, match="k of at least 1"):
        ndcg_at_k(RANKING, 0)
