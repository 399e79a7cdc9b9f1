"""Weights of training paths by their rarity (STAR, section 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

PathT = TypeVar("PathT", bound=Hashable)


def path_weights(paths: Sequence[PathT], w_min: float, w_max: float) -> Mapping[PathT, float]:
    """Return the weight of each distinct path of a class (all positives, or all negatives, of the training set).

        w_raw(p) = |class| / count(p),  scaled linearly so that the class's smallest is w_min and its largest w_max

    `paths` has one entry an occurrence. Where all paths occur equally often each weighs w_max.
    The linear scaling within the class is our reading: the paper says "scaled to a fixed range".
    """
    counts = Counter(paths)
    raw = {path: len(paths) / count for path, count in counts.items()}
    least, most = min(raw.values(), default=0.0), max(raw.values(), default=0.0)
    if least == most:
        return dict.fromkeys(raw, w_max)
    return {path: w_min + (w_max - w_min) * (value - least) / (most - least) for path, value in raw.items()}
