"""Judge confidences and the uncertainty of figures: calibration, risk, abstention, intervals and a paired test.

Resampling uses values only, never their order: the same values in another order give the same interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray


def expected_calibration_error(
    confidences: Sequence[float] | NDArray[np.float64], right: Sequence[bool] | NDArray[np.bool_], num_bins: int = 10
) -> float:
    """Return ECE = Σ over bins b of |b| / n · |share right in b − mean confidence in b|, in [0, 1].

    The bins are of equal width over [0, 1]. Source: Naeini et al. 2015; Guo et al. 2017, equation 3. Deviations: bins
    are closed below, not above. Raises `ValueError` for no predictions, unequal lengths, a confidence outside [0, 1] or
    no bins.
    """
    sure, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if sure.ndim != 1 or sure.shape != hits.shape or not sure.size:
        raise ValueError(f"expected as many confidences as judgements, at least one, found {sure.shape}, {hits.shape}")
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError(f"expected confidences in [0, 1], found {sure[~((sure >= 0) & (sure <= 1))][0]}")
    if num_bins < 1:
        raise ValueError(f"expected at least one bin, found {num_bins}")
    places = np.searchsorted(np.arange(1, num_bins) / num_bins, sure, side="right")
    return float(np.abs(np.bincount(places, hits - sure)).sum() / len(sure))


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


Floats = NDArray[np.float64]

_MAX_CELLS = 4_000_000
"""The most numbers held in memory while resampling: 32 MB."""

_MAX_EXACT = 16
"""The most differences for which all sign flips are enumerated: 65,536."""

_ROUNDING = 1e-12
"""Two values of a question at most this far apart are a tie."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, both ends included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """System a against system b on the same questions: mean of a − b, its interval, and the p-value."""

    difference: float
    interval: Interval
    p_value: float
    num_won: int
    num_lost: int
    num_tied: int


def bootstrap_interval(
    values: Sequence[float], *, confidence: float = 0.95, num_samples: int = 2000, seed: int = 0
) -> Interval:
    """Return the percentile bootstrap interval of the mean of one value per question (Efron & Tibshirani 1993, ch. 13).

    Raises `ValueError` for no values, values that are not finite, a confidence outside (0, 1) or no sample.
    """
    if not 0 < confidence < 1 or num_samples < 1:
        raise ValueError(
            f"expected a confidence in (0, 1) and at least one sample, found {confidence} and {num_samples}"
        )
    sizes, counts = np.unique(_finite(values), return_counts=True)
    generator, num_values = np.random.default_rng(seed), int(counts.sum())
    means = np.concatenate(
        [
            generator.multinomial(num_values, counts / num_values, size=n) @ sizes / num_values
            for n in _chunks(num_samples, len(sizes))
        ]
    )
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def compare_pairs(
    a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95, num_samples: int = 10_000, seed: int = 0
) -> PairedComparison:
    """Compare two systems on the same questions with a two-sided sign-flip randomisation test.

    p = share of the sign flips of the differences whose |sum| is at least the observed one. Up to 16 non-zero
    differences all flips are enumerated; else p = (1 + such flips) / (1 + num_samples), drawn at random. Source:
    Smucker et al. 2007; the + 1 is Davison & Hinkley 1997, equation 4.11. Errors: as above.
    """
    if len(a) != len(b):
        raise ValueError(f"expected two systems on the same questions, found {len(a)} and {len(b)} values")
    differences = _finite(a) - _finite(b)
    differences[np.abs(differences) <= _ROUNDING] = 0.0
    return PairedComparison(
        difference=fsum(differences) / len(differences),
        interval=bootstrap_interval(differences.tolist(), confidence=confidence, num_samples=num_samples, seed=seed),
        p_value=_sign_flip_p(differences, num_samples, seed),
        num_won=int((differences > 0).sum()),
        num_lost=int((differences < 0).sum()),
        num_tied=int((differences == 0).sum()),
    )


def _sign_flip_p(differences: Floats, num_samples: int, seed: int) -> float:
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    # Treat sums that differ only by rounding as equal.
    least = abs(fsum(differences)) - 1e-9 * float(sizes @ counts)
    if counts.sum() <= _MAX_EXACT:
        flipped = np.zeros(1)
        for size in np.repeat(sizes, counts):
            flipped = np.concatenate([flipped + size, flipped - size])
        return float((np.abs(flipped) >= least).mean())
    generator, num_extreme = np.random.default_rng(seed), 0
    for n in _chunks(num_samples, len(sizes)):
        flipped = (2 * generator.binomial(counts, 0.5, size=(n, len(counts))) - counts) @ sizes
        num_extreme += int((np.abs(flipped) >= least).sum())
    return (1 + num_extreme) / (1 + num_samples)


def _finite(values: Sequence[float]) -> Floats:
    found = np.array(values, dtype=np.float64)
    if not found.size or not np.isfinite(found).all():
        raise ValueError(f"expected at least one value, all finite, found {len(found)}")
    return found


def _chunks(num_samples: int, width: int) -> Iterator[int]:
    """Yield batch sizes with the sum `num_samples`, each small enough for memory."""
    most = max(1, _MAX_CELLS // max(width, 1))
    for start in range(0, num_samples, most):
        yield min(most, num_samples - start)
