"""Selective prediction: what is risked by answering, at every share of the questions that is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """What is answered from each confidence on: all of length num_levels, confidences falling.

    coverage[i]: share of all questions that are answered with at least confidence[i]. risk[i]: share of these whose
    answer is wrong.
    """

    confidence: NDArray[np.float64]
    coverage: NDArray[np.float64]
    risk: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Mean risk over all coverages that are reached (AURC; Geifman et al. 2019, section 2), 0 of no answers.

        Every answer weighs the same; where several have one confidence each has the risk of answering them all.
        """
        if not len(self.coverage):
            return 0.0
        widths = np.diff(self.coverage, prepend=0.0)
        return fsum(widths * self.risk) / float(self.coverage[-1])

    def risk_at(self, coverage: float) -> float | None:
        """Return the risk of answering at least this share of the questions; None where fewer were answered."""
        enough = np.flatnonzero(self.coverage >= coverage - 1e-12)
        return float(self.risk[enough[0]]) if len(enough) else None


@dataclass(frozen=True, slots=True)
class FalseAnswers:
    """The answers to questions that have none, where a share `kept` of the right answers is still given.

    threshold: the confidence that this takes. num: questions without an answer; num_false: of these, answered.
    """

    kept: float
    threshold: float
    num: int
    num_false: int

    @property
    def share(self) -> float:
        """`num_false` of `num`, in [0, 1]; 0 of no such questions."""
        return self.num_false / self.num if self.num else 0.0


def risk_coverage(confidences: Sequence[float | None], right: Sequence[bool]) -> RiskCoverage:
    """Return the risk–coverage curve over all questions asked; a confidence is None where nothing was answered.

    At a threshold t the questions answered are A = {i: confidence_i ≥ t}: coverage |A| / n, risk
    |{i ∈ A: not right_i}| / |A|. Source: El-Yaniv & Wiener 2010, section 2; with questions that have no answer among
    them, every answer to which is wrong, Kamath et al. 2020, section 3. Raises `ValueError` for no questions, unequal
    lengths or a confidence that is not finite.
    """
    if len(confidences) != len(right) or not confidences:
        raise ValueError(
            f"expected as many confidences as judgements, at least one, found {len(confidences)} and {len(right)}"
        )
    given = np.array([c for c in confidences if c is not None], dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError(f"expected confidences that are finite, found {given[~np.isfinite(given)][0]}")
    wrong = np.array([not r for c, r in zip(confidences, right, strict=True) if c is not None], dtype=np.float64)
    order = np.argsort(-given, kind="stable")
    levels, last = given[order], np.arange(1, len(given) + 1)
    ends = np.flatnonzero(np.append(levels[1:] != levels[:-1], True)) if len(given) else last
    num_wrong = np.cumsum(wrong[order])[ends]
    num_answered = last[ends]
    return RiskCoverage(levels[ends], num_answered / len(confidences), num_wrong / num_answered)


def false_answers(
    confidences: Sequence[float | None], right: Sequence[bool], unanswerable: Sequence[bool], kept: float = 0.8
) -> FalseAnswers | None:
    """Return how many questions without an answer are answered at the highest threshold that keeps `kept` of the right.

    That is the false-positive rate at a true-positive rate of `kept`, a point of the ROC curve of Hendrycks & Gimpel
    (2017, section 2). Right answers are those of the run: what it did not answer counts for nothing. None without a
    right answer or an unanswerable question. Raises `ValueError` for unequal lengths or a share outside (0, 1].
    """
    if not len(confidences) == len(right) == len(unanswerable):
        raise ValueError(f"expected as many of each, found {len(confidences)}, {len(right)} and {len(unanswerable)}")
    if not 0 < kept <= 1:
        raise ValueError(f"expected a share in (0, 1], found {kept}")
    of_right = sorted(
        (c for c, r, u in zip(confidences, right, unanswerable, strict=True) if c is not None and r and not u),
        reverse=True,
    )
    of_none = [c for c, u in zip(confidences, unanswerable, strict=True) if u]
    if not of_right or not of_none:
        return None
    threshold = of_right[int(np.ceil(kept * len(of_right) - 1e-9)) - 1]
    return FalseAnswers(kept, threshold, len(of_none), sum(c is not None and c >= threshold for c in of_none))
