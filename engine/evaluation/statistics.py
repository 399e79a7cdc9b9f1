"""Judge how sure figures and confidences are: bootstrap intervals, a paired test, the calibration error.

Resampling uses values only, never their order: the same values in another order give the same interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
_MAX_EXACT = 16
"""Non-zero differences up to which every sign flip is enumerated."""
_ROUNDING = 1e-12
_CHUNK = 500
"""Samples that are drawn at a time, for memory."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of an interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """System a against b: the mean difference a − b with its interval, the p-value, and where each is better."""

    difference: float
    interval: Interval
    p_value: float
    num_won: int
    num_lost: int
    num_tied: int


def bootstrap_interval(values: Sequence[float], *, num_samples: int = 10_000, seed: int = 0) -> Interval:
    """Return the 95 % percentile bootstrap interval of the mean (Efron & Tibshirani 1993, chapter 13).

    Raises `ValueError` without a value, for a value that is not finite, or without a sample.
    """
    if num_samples < 1:
        raise ValueError(f"expected at least one sample, found {num_samples}")
    sizes, counts = np.unique(_finite(values), return_counts=True)
    generator, num_values = np.random.default_rng(seed), int(counts.sum())
    means = [
        generator.multinomial(num_values, counts / num_values, size=min(_CHUNK, num_samples - start)) @ sizes
        for start in range(0, num_samples, _CHUNK)
    ]
    low, high = np.quantile(np.concatenate(means) / num_values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def compare_pairs(
    a: Sequence[float], b: Sequence[float], *, num_samples: int = 10_000, seed: int = 0
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
        interval=bootstrap_interval(differences.tolist(), num_samples=num_samples, seed=seed),
        p_value=_sign_flip_p(differences, num_samples, seed),
        num_won=int((differences > 0).sum()),
        num_lost=int((differences < 0).sum()),
        num_tied=int((differences == 0).sum()),
    )


def _sign_flip_p(differences: Floats, num_samples: int, seed: int) -> float:
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    least = abs(fsum(differences)) - 1e-9 * float(sizes @ counts)  # sums that differ by rounding are equal
    if counts.sum() <= _MAX_EXACT:
        flipped = np.zeros(1)
        for size in np.repeat(sizes, counts):
            flipped = np.concatenate([flipped + size, flipped - size])
        return float((np.abs(flipped) >= least).mean())
    generator, num_extreme = np.random.default_rng(seed), 0
    for start in range(0, num_samples, _CHUNK):
        shape = min(_CHUNK, num_samples - start), len(counts)
        flipped = (2 * generator.binomial(counts, 0.5, size=shape) - counts) @ sizes
        num_extreme += int((np.abs(flipped) >= least).sum())
    return (1 + num_extreme) / (1 + num_samples)


def _finite(values: Sequence[float]) -> Floats:
    found = np.array(values, dtype=np.float64)
    if not found.size or not np.isfinite(found).all():
        raise ValueError(f"expected at least one value, all finite, found {len(found)}")
    return found


def expected_calibration_error(confidences: Sequence[float], right: Sequence[bool], num_bins: int = 10) -> float:
    """Return ECE = Σ over bins b of |b| / n · |share right in b − mean confidence in b|, in [0, 1].

    The bins are of equal width over [0, 1]. Source: Guo et al. 2017, equation 3. Deviation: bins are closed below, not
    above. Raises `ValueError` for no predictions, unequal lengths or a confidence outside [0, 1].
    """
    sure, hits = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if sure.shape != hits.shape or not sure.size or not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError(f"expected as many confidences in [0, 1] as judgements, found {sure.shape}, {hits.shape}")
    places = np.searchsorted(np.arange(1, num_bins) / num_bins, sure, side="right")
    return float(np.abs(np.bincount(places, hits - sure)).sum() / len(sure))
