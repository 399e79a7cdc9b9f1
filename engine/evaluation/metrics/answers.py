"""Strict scores of one question's answers, from one-to-one matching, and what a set of questions makes of them.

Conventions: where there is no gold answer (to abstain is right) all scores are 1 if nothing was predicted, else 0;
where there is one and nothing was predicted all are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...questions.gold import GoldAnswer
from .matching import Predicted, distinct_gold, matched


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Scores of one question; each in [0, 1]."""

    hits_at_1: float
    hit: float
    precision: float
    recall: float
    f1: float
    exact_match: float


ALL_RIGHT = AnswerScores(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
ALL_WRONG = AnswerScores(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Also of a question that failed or timed out: that is no abstention, whatever the gold answers are."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What micro-averages are made of: of one question, how many predictions were right, made and to be made."""

    num_right: int
    num_predicted: int
    num_gold: int

    def __post_init__(self) -> None:
        if not 0 <= self.num_right <= min(self.num_predicted, self.num_gold):
            raise ValueError(f"expected 0 ≤ num_right ≤ num_predicted and num_gold, found {self}")


def strict_scores(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> AnswerScores:
    """Return the scores of ranked predictions, right where `matched` says so.

    With r right of p predictions and g distinct gold answers: precision r / p, recall r / g, F1 2r / (p + g) (their
    harmonic mean), Hit [r > 0], Hits@1 [the first is right], exact match [r = p = g].
    Source: van Rijsbergen 1979, chapter 7 (F); the mean of F1 over questions is WebQSP's (Yih et al. 2016).
    """
    if not gold:
        return ALL_WRONG if predictions else ALL_RIGHT
    if not predictions:
        return ALL_WRONG
    right = matched(predictions, gold)
    num_right, num_predicted, num_gold = sum(right), len(predictions), len(distinct_gold(gold))
    return AnswerScores(
        hits_at_1=float(right[0]),
        hit=float(num_right > 0),
        precision=num_right / num_predicted,
        recall=num_right / num_gold,
        f1=2 * num_right / (num_predicted + num_gold),
        exact_match=float(num_right == num_predicted == num_gold),
    )


def answer_counts(predictions: Sequence[Predicted], gold: Sequence[GoldAnswer]) -> Counted:
    """Return the counts of one question; of one that failed, with no predictions."""
    return Counted(sum(matched(predictions, gold)), len(predictions), len(distinct_gold(gold)))


def micro_f1(counts: Sequence[Counted]) -> float:
    """Return 2 Σr / (Σp + Σg) over all questions asked (micro-average; Manning et al. 2008, section 13.6).

    1 where nothing was predicted and nothing was to be; a right abstention adds nothing. No questions: `ValueError`.
    """
    if not counts:
        raise ValueError("expected the counts of at least one question, found none")
    total = sum(count.num_predicted + count.num_gold for count in counts)
    return 2 * sum(count.num_right for count in counts) / total if total else 1.0
