"""Pool scores of retrieved triples along shortest paths, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from .graph import TripleColumns
from .requests import Request, Row
from .templates import template


def pool_scores(
    questions: Sequence[TripleColumns], scores: Sequence[Sequence[float]], position: float, *, use_maximum: bool
) -> Request[list[list[float]]]:
    """Return the pooled score of each triple of each question; a triple that is not in the graph is its own path.

    scores: of each question's triples, in order. position: a of the bonus. use_maximum: s_p is the maximum instead of
    the mean.
    """

    def decode(rows: Sequence[Row]) -> list[list[float]]:
        found: list[list[float]] = [[] for _ in questions]
        for question, pooled in rows:
            found[question] = list(pooled)
        return found

    params = {
        "questions": [
            {**asdict(question), "scores": [float(score) for score in own]}
            for question, own in zip(questions, scores, strict=True)
        ],
        "position": float(position),
        "use_maximum": use_maximum,
    }
    return Request(template("pool_scores"), params, decode)
