"""Score confidences: ECE, risk and coverage, abstention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The predictions with a confidence in [low, high) (the last bin closed): number, mean confidence, share right."""

    low: float
    high: float
    num: int
    mean_confidence: float
    share_right: float


def reliability(
    confidences: Sequence[float] | NDArray[np.float64], right: Sequence[bool] | NDArray[np.bool_], num_bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Return the non-empty bins of equal width over [0, 1], lowest first.

    Source: the reliability diagram of Guo et al. 2017, section 2. Deviations: bins are closed below, not above. Raises
    `ValueError` for no predictions, unequal lengths, a confidence outside [0, 1] or no bins.
    """
    sure, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if sure.ndim != 1 or sure.shape != hits.shape or not sure.size:
        raise ValueError(f"expected as many confidences as judgements, at least one, found {sure.shape}, {hits.shape}")
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError(f"expected confidences in [0, 1], found {sure[~((sure >= 0) & (sure <= 1))][0]}")
    if num_bins < 1:
        raise ValueError(f"expected at least one bin, found {num_bins}")
    edges = np.arange(num_bins + 1) / num_bins
    places = np.searchsorted(edges[1:-1], sure, side="right")
    return tuple(
        ReliabilityBin(
            low=float(edges[place]),
            high=float(edges[place + 1]),
            num=int(inside.sum()),
            mean_confidence=float(sure[inside].mean()),
            share_right=float(hits[inside].mean()),
        )
        for place in np.unique(places)
        for inside in [places == place]
    )


def expected_calibration_error(
    confidences: Sequence[float] | NDArray[np.float64], right: Sequence[bool] | NDArray[np.bool_], num_bins: int = 10
) -> float:
    """Return ECE = Σ over bins b of |b| / n · |share right in b − mean confidence in b|, in [0, 1].

    Source: Naeini et al. 2015; Guo et al. 2017, equation 3. Bins, deviations and errors: `reliability`.
    """
    bins = reliability(confidences, right, num_bins)
    return fsum(b.num * abs(b.share_right - b.mean_confidence) for b in bins) / sum(b.num for b in bins)


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """The risk–coverage curve: arrays of length num_levels, confidences descending.

    coverage[i]: share of all questions answered with at least confidence[i]. risk[i]: share of these with a wrong
    answer.
    """

    confidence: NDArray[np.float64]
    coverage: NDArray[np.float64]
    risk: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Mean risk over all reached coverages (AURC; Geifman et al. 2019, section 2), 0 without answers.

        Every answer has the same weight; answers with equal confidence each have the risk of answering them all.
        """
        if not len(self.coverage):
            return 0.0
        widths = np.diff(self.coverage, prepend=0.0)
        return fsum(widths * self.risk) / float(self.coverage[-1])

    def risk_at(self, coverage: float) -> float | None:
        """Return the risk at the first coverage of at least this share; None if the curve does not reach it."""
        enough = np.flatnonzero(self.coverage >= coverage - 1e-12)
        return float(self.risk[enough[0]]) if len(enough) else None


@dataclass(frozen=True, slots=True)
class FalseAnswers:
    """Answers to unanswerable questions, at the threshold that keeps a share `kept` of the right answers.

    threshold: the confidence needed. num: unanswerable questions; num_false: how many of them were answered.
    """

    kept: float
    threshold: float
    num: int
    num_false: int

    @property
    def share(self) -> float:
        """num_false / num, in [0, 1]; 0 without such questions."""
        return self.num_false / self.num if self.num else 0.0


def risk_coverage(confidences: Sequence[float | None], right: Sequence[bool]) -> RiskCoverage:
    """Return the risk–coverage curve over all questions; a confidence is None if nothing was answered.

    At a threshold t the answered questions are A = {i: confidence_i ≥ t}: coverage |A| / n, risk |{i ∈ A: not right_i}|
    / |A|. Source: El-Yaniv & Wiener 2010, section 2; with unanswerable questions, whose every answer is wrong, Kamath
    et al. 2020, section 3. Raises `ValueError` for no questions, unequal lengths or a confidence that is not finite.
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
    """Return the false answers at the highest threshold that keeps a share `kept` of the right answers.

    This is the false-positive rate at a true-positive rate of `kept`, a point of the ROC curve of Hendrycks & Gimpel
    (2017, section 2). Only the run's own right answers count. None without a right answer or an unanswerable question.
    Raises `ValueError` for unequal lengths or a share outside (0, 1].
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


@dataclass(frozen=True, slots=True)
class AbstentionScores:
    """Precision and recall of abstentions, in [0, 1], with their numerator and denominators."""

    precision: float
    recall: float
    num_right: int
    num_abstained: int
    num_unanswerable: int


def abstention_scores(abstained: Sequence[bool], unanswerable: Sequence[bool]) -> AbstentionScores:
    """Return precision |A ∩ U| / |A| and recall |A ∩ U| / |U| of the abstentions A, over all questions.

    U are the questions without gold answers. A failure or a timeout is no abstention. Source: the no-answer scores of
    SQuAD 2.0 (Rajpurkar et al. 2018), as precision and recall of the class "no answer". Conventions: if A or U is empty
    its score is 1 if both are, else 0. Raises `ValueError` for unequal lengths.
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
