"""Smooth the scores of triples along the paths from and to the topics: Path Pooling as a stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

from ...models import Count, Range
from ...models.path_pooling import ScoredEdge, reselect_triples
from ..evidence import Evidence, Kind, sigmoid
from ..parts import Reorganiser, option, part
from ..values import Triple

if TYPE_CHECKING:
    from ..context import Context

_SOURCE = "Path Pooling, section "


@part("path-pooling")
@dataclass(frozen=True)
class PathPooling(Reorganiser):
    """Smooths triple scores along the paths from and to the topics, and keeps the best (docs/papers.md).

    What is pooled are probabilities: those of the evidence's calibration; without one the scores as they are, or, where
    one is negative, their sigmoid, for the position bonus would prefer the far triples. A pooled score is no
    probability, so that the calibration is dropped.
    """

    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "triple"

    keep: Count = option(25, "triples kept; 0 keeps all, in their new order", source=f"{_SOURCE}4.2")
    coarse: Count = option(500, "best triples to pool; 0 pools all", source=f"{_SOURCE}4.2")
    position: Annotated[float, Range(1e-6)] = option(1.0, "a, the divisor of the bonus for a position in a path")
    directed: bool = option(True, "paths follow the directions of the triples", source=f"{_SOURCE}3.3")

    def __call__(self, _ctx: Context, evidence: Sequence[Evidence[Triple]]) -> list[Evidence[Triple]]:
        return [self._pooled(each) for each in evidence]

    def _pooled(self, evidence: Evidence[Triple]) -> Evidence[Triple]:
        topics = dict.fromkeys(topic.entity for topic in evidence.topics)
        found = reselect_triples(
            list_edges(evidence),
            topics,
            self.keep or None,
            self.position,
            coarse=self.coarse or None,
            directed=self.directed,
        )
        items = tuple(replace(evidence.items[place], score=score) for place, score in found)
        return replace(evidence, calibration=None, items=items)


def list_edges(evidence: Evidence[Triple]) -> list[ScoredEdge]:
    """Return the triples with what is pooled of them."""
    scores = [scored.score for scored in evidence.items]
    if evidence.calibration is not None:
        scores = [evidence.calibration.probability(score) for score in scores]
    elif any(score < 0 for score in scores):
        scores = [sigmoid(score) for score in scores]
    triples = (scored.value for scored in evidence.items)
    return [ScoredEdge(each.head, each.tail, score) for each, score in zip(triples, scores, strict=True)]
