"""How well confidences say how often they are right: expected calibration error, and the bins of a reliability plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The predictions with a confidence in [low, high), the last bin closed: how many, how sure, how often right."""

    low: float
    high: float
    num: int
    mean_confidence: float
    share_right: float


def reliability(
    confidences: Sequence[float] | NDArray[np.float64], right: Sequence[bool] | NDArray[np.bool_], num_bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Return the bins of equal width over [0, 1] that hold a prediction, lowest first.

    Source: the reliability diagram of Guo et al. 2017, section 2. Deviations: bins are closed below, not above.
    Raises `ValueError` for no predictions, unequal lengths, a confidence outside [0, 1] or no bins.
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
