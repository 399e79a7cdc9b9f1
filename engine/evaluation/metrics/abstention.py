"""Whether a system abstains where it should: where the question has no right answer in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AbstentionScores:
    """Precision and recall of abstaining, in [0, 1], with what they are shares of."""

    precision: float
    recall: float
    num_right: int
    num_abstained: int
    num_unanswerable: int


def abstention_scores(abstained: Sequence[bool], unanswerable: Sequence[bool]) -> AbstentionScores:
    """Return, over all questions asked, precision |A ∩ U| / |A| and recall |A ∩ U| / |U| of the abstentions A.

    U are the questions without gold answers. A failure or a timeout is no abstention. Source: the no-answer figures of
    SQuAD 2.0 (Rajpurkar et al. 2018), as precision and recall of the class "no answer". Conventions: where A or U is
    empty its share is 1 if both are, else 0. Raises `ValueError` for unequal lengths.
    """
    if len(abstained) != len(unanswerable):
        raise ValueError(f"expected as many abstentions as questions, found {len(abstained)} and {len(unanswerable)}")
    num_abstained, num_unanswerable = sum(map(bool, abstained)), sum(map(bool, unanswerable))
    num_right = sum(bool(a and u) for a, u in zip(abstained, unanswerable, strict=True))
    of_none = float(not num_abstained and not num_unanswerable)
    return AbstentionScores(
        precision=num_right / num_abstained if num_abstained else of_none,
        recall=num_right / num_unanswerable if num_unanswerable else of_none,
        num_right=num_right,
        num_abstained=num_abstained,
        num_unanswerable=num_unanswerable,
    )
