"""Smooth the scores of triples along the paths from and to the topics: Path Pooling as a stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from ...models import Count, Range
from ...models.path_pooling import Floats, ScoredTriples, reselect_triples
from ..evidence import Evidence, Kind, sigmoid
from ..parts import Reorganiser, option, part
from ..values import Entity, Triple

if TYPE_CHECKING:
    from ..context import Context

_SOURCE = "Path Pooling, section "


@part("path-pooling")
@dataclass(frozen=True)
class PathPooling(Reorganiser):
    """Smooths triple scores along the paths from and to the topics, and keeps the best (docs/papers.md).

    What is pooled are probabilities: those of the evidence's calibration; without one the scores as they are, or, where
    one is negative, their sigmoid, for the position bonus would prefer the far triples. A pooled score is no
    probability, so that the calibration is dropped. All questions of a batch are one disjoint graph.
    """

    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "triple"

    keep: Count = option(25, "triples kept; 0 keeps all, in their new order", source=f"{_SOURCE}4.2")
    coarse: Count = option(500, "best triples to pool; 0 pools all", source=f"{_SOURCE}4.2")
    position: Annotated[float, Range(1e-6)] = option(1.0, "a, the divisor of the bonus for a position in a path")

    def __call__(self, _ctx: Context, evidence: Sequence[Evidence[Triple]]) -> list[Evidence[Triple]]:
        triples = make_triple_columns(evidence)
        places, scores = reselect_triples(triples, self.keep or None, self.position, coarse=self.coarse or None)
        ends = np.searchsorted(triples.questions[places], np.arange(len(evidence)), side="right")
        pooled = []
        for number, each in enumerate(evidence):
            kept = slice(int(ends[number - 1]) if number else 0, int(ends[number]))
            own = zip((places[kept] - triples.triple_starts[number]).tolist(), scores[kept].tolist(), strict=True)
            items = tuple(replace(each.items[place], score=score) for place, score in own)
            pooled.append(replace(each, calibration=None, items=items))
        return pooled


def make_triple_columns(evidence: Sequence[Evidence[Triple]]) -> ScoredTriples:
    """Return the triples of the questions as columns of one graph; a topic that none of them holds has no node."""
    heads: list[int] = []
    tails: list[int] = []
    topics: list[int] = []
    node_starts, triple_starts = [0], [0]
    for each in evidence:
        nodes: dict[Entity, int] = {}
        for scored in each.items:
            heads.append(nodes.setdefault(scored.value.head, node_starts[-1] + len(nodes)))
            tails.append(nodes.setdefault(scored.value.tail, node_starts[-1] + len(nodes)))
        topics += [nodes[entity] for entity in {topic.entity: None for topic in each.topics} if entity in nodes]
        node_starts.append(node_starts[-1] + len(nodes))
        triple_starts.append(len(heads))
    columns = np.array([heads, tails], dtype=np.int64)
    scores = np.concatenate([np.zeros(0), *map(_probabilities, evidence)])
    starts = np.array([node_starts, triple_starts], dtype=np.int64)
    return ScoredTriples(columns[0], columns[1], scores, np.array(topics, dtype=np.int64), starts[0], starts[1])


def _probabilities(evidence: Evidence[Triple]) -> Floats:
    scores = [scored.score for scored in evidence.items]
    if evidence.calibration is not None:
        scores = [evidence.calibration.probability(score) for score in scores]
    elif any(score < 0 for score in scores):
        scores = [sigmoid(score) for score in scores]
    return np.array(scores, dtype=np.float64)
