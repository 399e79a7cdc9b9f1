"""How good a ranking of a question's triples is: what of its right triples, and of its answers, the best ones have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ..training.objective import Figures
from .graphs import Ints, QuestionGraphs

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

RECALL_AT = (10, 50, 100, 500)
CHOOSE_AT = 100
ANSWERS = tuple(f"answer_recall_at_{k}" for k in RECALL_AT)
FIGURES = (*(f"recall_at_{k}" for k in RECALL_AT), "average_precision", *ANSWERS)
"""Figures of a checkpoint: the share of a question's right triples that are among its best k, the mean over its right
triples of the share of right ones among those up to it, and the share of the right answers that its subgraph has which
are head or tail of one of the best k."""
TIE_BREAK = 1e-3
"""Of equal recall the better average precision counts."""

CALIBRATED = 100
"""The best triples of each dev question, over which scores are calibrated."""

Ranked = Iterable[tuple[QuestionGraphs, int, Floats]]
"""A set of subgraphs, the number of a question in it, and the scores of its triples."""


def figures_of(ranked: Ranked) -> Figures | None:
    """Return the means of `FIGURES` and the selection metric over questions with right triples; None without any."""
    found = [
        [*judged(scores, right), *answers_found(graphs, question, scores)]
        for graphs, question, scores in ranked
        if (right := graphs.is_positive[graphs.triples_of(question)]).any()
    ]
    if not found:
        return None
    figures = dict(zip(FIGURES, np.mean(found, axis=0).tolist(), strict=True))
    return figures | {"choose_by": figures[f"recall_at_{CHOOSE_AT}"] + TIE_BREAK * figures["average_precision"]}


def judged(scores: Floats, right: Bools) -> list[float]:
    """Return recall and average precision of a question with right triples; of equal scores the first is the better."""
    ranks = np.flatnonzero(right[np.argsort(-scores, kind="stable")]) + 1
    precisions = np.arange(1, len(ranks) + 1) / ranks
    return [*(float((ranks <= k).mean()) for k in RECALL_AT), float(precisions.mean())]


def answers_found(graphs: QuestionGraphs, question: int, scores: Floats) -> list[float]:
    """Return the share of a question's answers that its best k triples have, for each k; 0 where it has none."""
    answers = list(graphs.texts.answers[question].values())
    if not answers:
        return [0.0] * len(RECALL_AT)
    span, first = graphs.triples_of(question), int(graphs.node_starts[question])
    order = np.argsort(-scores, kind="stable")
    return [
        float(np.isin(answers, _ends(graphs.heads[span], graphs.tails[span], order[:k]) - first).mean())
        for k in RECALL_AT
    ]


def calibration_pairs(ranked: Ranked) -> list[tuple[float, float]]:
    """Return score and rightness of each question's best triples."""
    found: list[tuple[float, float]] = []
    for graphs, question, scores in ranked:
        right = graphs.is_positive[graphs.triples_of(question)]
        best = np.argsort(-scores, kind="stable")[:CALIBRATED]
        found += zip(scores[best].tolist(), right[best].astype(float).tolist(), strict=True)
    return found


def questions_with_right(sets: Sequence[QuestionGraphs]) -> list[tuple[int, int]]:
    """Return the questions that have a right triple in their subgraph: place of the set, number in it."""
    return [
        (place, question)
        for place, graphs in enumerate(sets)
        for question in range(len(graphs))
        if graphs.is_positive[graphs.triples_of(question)].any()
    ]


def _ends(heads: Ints, tails: Ints, rows: Ints) -> Ints:
    ends: Ints = np.concatenate([heads[rows], tails[rows]])
    return ends
