"""Dev figures of a path scorer: what the first path of each question is worth."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...training.objective import Figures
from ..inputs.examples import Example, Floats

NAMES = ("hits_at_1_any", "hits_at_1_expected", "f1")


def first_path_figures(ranked: Iterable[tuple[Example, Floats]]) -> Figures:
    """Return the figures of the best path of each question, given the scores of its reachable paths.

    hits_at_1_any: it leads to a right answer. hits_at_1_expected: the share of its ends that are right. f1: of its
    ends. Each as mean over questions and, as ``…_by_topic``, over topics. `choose_by` is the mean of the three: each
    alone can be raised by paths that are too wide or too narrow.
    """
    rows: list[tuple[float, float, float]] = []
    topics: dict[tuple[str, ...], list[tuple[float, float, float]]] = {}
    for example, scores in ranked:
        best = int(np.argmax(scores))
        row = (float(example.f1[best] > 0), float(example.precision[best]), float(example.f1[best]))
        rows.append(row)
        topics.setdefault(tuple(sorted(example.topic_ids)), []).append(row)
    means = np.mean(rows, axis=0)
    by_topic = np.mean([np.mean(group, axis=0) for group in topics.values()], axis=0)
    return {
        "choose_by": float(means.mean()),
        **{name: float(value) for name, value in zip(NAMES, means, strict=True)},
        **{f"{name}_by_topic": float(value) for name, value in zip(NAMES, by_topic, strict=True)},
    }
