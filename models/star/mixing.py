"""Weigh paths, mix the scores of both networks, and compute the figures that dev is chosen by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..similarity import lower_other_scores
from ..training.objective import Figures
from .config import Positives
from .examples import Floats, QuestionExample

PathT = TypeVar("PathT", bound=Hashable)


def path_weights(paths: Sequence[PathT], w_min: float, w_max: float) -> Mapping[PathT, float]:
    """Return the weight of each distinct path of a class (all positives, or all negatives, of the training set).

        w_raw(p) = |class| / count(p),  scaled linearly so that the class's smallest is w_min and its largest w_max

    `paths` has one entry per occurrence. If all paths are equally frequent, each weighs w_max. Scaling linearly within
    the class is our reading: the paper says "scaled to a fixed range".
    """
    counts = Counter(paths)
    raw = {path: len(paths) / count for path, count in counts.items()}
    if len(set(raw.values())) < 2:
        return dict.fromkeys(raw, w_max)
    least, most = min(raw.values()), max(raw.values())
    return {path: w_min + (w_max - w_min) * (value - least) / (most - least) for path, value in raw.items()}


"""f1: every path to a right answer, weighted by its ends' F1 (ours). hard: those of hard path mining, equally (STAR,
section 4.1). single: one shortest path (STAR without hard path mining).
"""


def compute_target_shares(example: QuestionExample, positives: Positives, any_weight: float) -> Floats:
    """Return the share of each reachable path, (num_reachable,), summing to 1; all 0 without positives.

    `any_weight` is a bonus on F1 for reaching a right answer at all, with the positives `f1`. If an annotator wrote the
    question's paths, only these count, equally.
    """
    if positives == "single":
        raw = (np.arange(len(example.reachable)) == example.first_shortest).astype(np.float32)
    elif positives == "hard":
        raw = example.positive.astype(np.float32)
    else:
        raw = example.f1 + any_weight * example.is_right
        if example.positive.any() and example.has_gold:
            raw = example.positive.astype(np.float32)
    total = raw.sum()
    shares: Floats = (raw / total if total else raw).astype(np.float32)
    return shares


NAMES = ("hits_at_1_any", "hits_at_1_expected", "f1")


def first_path_figures(ranked: Iterable[tuple[QuestionExample, Floats]]) -> Figures:
    """Return the figures of the best path of each question, given the scores of its reachable paths.

    hits_at_1_any: it leads to a right answer. hits_at_1_expected: the share of its ends that are right. f1: of its
    ends. Each as mean over questions and, as ``…_by_topic``, over topics. `selection_metric` is the mean
    of the three: each alone rewards paths that are too wide or too narrow.
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
        "selection_metric": float(means.mean()),
        **{name: float(value) for name, value in zip(NAMES, means, strict=True)},
        **{f"{name}_by_topic": float(value) for name, value in zip(NAMES, by_topic, strict=True)},
    }


MIXES = tuple(step / 20 for step in range(21))

Rows = npt.NDArray[np.int64]


def blend_scores(stop: Floats, cross: Floats, mix: float) -> Floats:
    """Return the weighted sum, (num_paths,), of both networks' scores of the same paths. mix: λ."""
    return np.asarray((1 - mix) * stop + mix * cross, dtype=np.float32)


def mix_shortlist_scores(stop: Floats, cross: Floats, rows: Rows, mix: float) -> Floats:
    """Return the scores of all paths. stop: (num_paths,). cross: (num_shortlisted,), of the paths at `rows`. mix: λ."""
    scores = stop.copy()
    scores[rows] = blend_scores(stop[rows], cross, mix)
    lower_other_scores(scores, rows)
    return scores


def best_mix(
    ranked: Sequence[tuple[QuestionExample, Floats, Floats, Rows]], mixes: Sequence[float] = MIXES
) -> tuple[float, Figures]:
    """Return the λ with the best figures on these dev examples, and the figures; ties go to the smallest λ."""
    figures = {
        mix: first_path_figures(
            (example, mix_shortlist_scores(stop, cross, rows, mix)) for example, stop, cross, rows in ranked
        )
        for mix in mixes
    }
    best = max(mixes, key=lambda mix: (figures[mix]["selection_metric"], -mix))
    return best, figures[best]
