"""Compute the uncertainty of metrics: bootstrap confidence intervals, means by cluster, and a paired test.

Resampling uses values only, never their order: the same values in another order give the same interval.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

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
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    num_samples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return the percentile bootstrap interval of the mean of one value per question (Efron & Tibshirani 1993, ch. 13).

    With `clusters` (say, each question's topic) whole clusters are resampled, because questions of one topic are not
    independent (Davison & Hinkley 1997, section 3.8). Errors: `bootstrap_ratio_interval`.
    """
    return bootstrap_ratio_interval(
        values, [1.0] * len(values), clusters=clusters, confidence=confidence, num_samples=num_samples, seed=seed
    )


def bootstrap_ratio_interval(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    num_samples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return the percentile bootstrap interval of Σ numerators / Σ denominators, one of each per question.

    For metrics that are no mean over questions: micro-F1 has numerators 2r and denominators p + g. Samples with only
    zero denominators are left out. Raises `ValueError` for no values, unequal lengths, values that are not finite, only
    such samples, a confidence outside (0, 1) or fewer than one sample.
    """
    _check_sampling(confidence, num_samples)
    table = np.column_stack([_finite(numerators), _finite(denominators)])
    rows, counts = np.unique(_sum_clusters(table, clusters), axis=0, return_counts=True)
    generator, num_rows = np.random.default_rng(seed), int(counts.sum())
    sums = np.concatenate(
        [generator.multinomial(num_rows, counts / num_rows, size=n) @ rows for n in _chunks(num_samples, len(rows))]
    )
    defined = sums[sums[:, 1] != 0]
    return _percentiles(defined[:, 0] / defined[:, 1], confidence)


def bootstrap_statistic_interval(
    statistic: Callable[[NDArray[np.int64]], float],
    num_questions: int,
    *,
    confidence: float = 0.95,
    num_samples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return the percentile bootstrap interval of any statistic of the resampled questions' indices.

    For metrics that are neither mean nor ratio, such as ECE. Here the order of the questions matters.
    """
    _check_sampling(confidence, num_samples)
    if num_questions < 1:
        raise ValueError("expected at least one question, found none")
    generator = np.random.default_rng(seed)
    figures = [statistic(generator.integers(num_questions, size=num_questions)) for _ in range(num_samples)]
    return _percentiles(np.array(figures, dtype=np.float64), confidence)


def means_by(values: Sequence[float], clusters: Sequence[Hashable]) -> dict[Hashable, float]:
    """Return the mean of each cluster's values, clusters in order of appearance."""
    if len(values) != len(clusters):
        raise ValueError(f"expected a cluster for each value, found {len(values)} values and {len(clusters)} clusters")
    grouped: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        grouped.setdefault(cluster, []).append(value)
    return {cluster: fsum(group) / len(group) for cluster, group in grouped.items()}


def macro_by(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return the mean of the clusters' means, so that every topic has the same weight.

    Its interval is `bootstrap_interval` of the values of `means_by`. Raises `ValueError` without values.
    """
    means = means_by(values, clusters)
    if not means:
        raise ValueError("expected at least one value, found none")
    return fsum(means.values()) / len(means)


def compare_pairs(
    a: Sequence[float],
    b: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    num_samples: int = 10_000,
    seed: int = 0,
) -> PairedComparison:
    """Compare two systems on the same questions with a two-sided sign-flip randomisation test.

    p = share of the sign flips of the differences whose |sum| is at least the observed one. Up to 16 non-zero
    differences all flips are enumerated; else p = (1 + such flips) / (1 + num_samples), drawn at random. With
    `clusters` the summed differences of a cluster are flipped together, and the interval resamples clusters. Source:
    Smucker et al. 2007; the + 1 is Davison & Hinkley 1997, equation 4.11. Errors: as above.
    """
    if len(a) != len(b):
        raise ValueError(f"expected two systems on the same questions, found {len(a)} and {len(b)} values")
    differences = _finite(a) - _finite(b)
    differences[np.abs(differences) <= _ROUNDING] = 0.0
    return PairedComparison(
        difference=fsum(differences) / len(differences),
        interval=bootstrap_interval(
            differences.tolist(), clusters=clusters, confidence=confidence, num_samples=num_samples, seed=seed
        ),
        p_value=_sign_flip_p(_sum_clusters(differences[:, None], clusters)[:, 0], num_samples, seed),
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


def _sum_clusters(table: Floats, clusters: Sequence[Hashable] | None) -> Floats:
    """Return the sums of the rows of each cluster, or the rows without clusters. Shape (num_clusters, columns)."""
    if clusters is None:
        return table
    if len(clusters) != len(table):
        raise ValueError(f"expected a cluster for each value, found {len(table)} values and {len(clusters)} clusters")
    numbers: dict[Hashable, int] = {}
    places = np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters])
    sums: Floats = np.column_stack([np.bincount(places, weights=column) for column in table.T]).astype(np.float64)
    return sums


def _chunks(num_samples: int, width: int) -> Iterator[int]:
    """Yield batch sizes with the sum `num_samples`, each small enough for memory."""
    most = max(1, _MAX_CELLS // max(width, 1))
    for start in range(0, num_samples, most):
        yield min(most, num_samples - start)


def _percentiles(figures: Floats, confidence: float) -> Interval:
    if not figures.size:
        raise ValueError("expected a statistic that is defined on some sample, found none: all denominators are 0")
    low, high = np.quantile(figures, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _check_sampling(confidence: float, num_samples: int) -> None:
    if not 0 < confidence < 1 or num_samples < 1:
        raise ValueError(
            f"expected a confidence in (0, 1) and at least one sample, found {confidence} and {num_samples}"
        )
