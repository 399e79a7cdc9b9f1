"""Rescore the best chains of a search with a better scorer; they stay before all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...models.similarity import lower_other_scores
from ...models.star.objectives import blend_scores
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Kind, item_sort_key
from ..linking.topics import compute_link_penalties
from ..retrieval.scoring import FloatArray
from ..steps import Steps, attribute_costs
from ..values import RelationPath, Scored, Topic


class PairReader(Protocol):
    """Reads a question and a relation path together: `StarScorer`."""

    @property
    def encoding_s(self) -> float:
        """Seconds spent in encoders so far."""
        ...

    def read(self, pairs: Sequence[tuple[str, Topic, RelationPath]]) -> FloatArray:
        """Return the logits of (question, topic, path), (num_pairs,)."""
        ...


@dataclass(frozen=True, slots=True)
class ShortlistRescorer:
    """A `Reorganiser`: of each question the first `shortlist` chains get (1 − mix) · score + mix · reading.

    The reading takes part in the link of its topic as the search's score did (`link_weight`). All questions of a batch
    are read together. The chains that were not read follow below, in their order.
    """

    reader: PairReader
    shortlist: int
    mix: float
    link_weight: float
    takes: Kind = "chain"
    gives: Kind = "chain"

    def reorganise(self, evidence: Sequence[Evidence[Chain]]) -> Steps[list[Evidence[Chain]]]:
        """Return the evidence with new scores, sorted anew."""
        encoding_s = self.reader.encoding_s
        pairs = [
            (each.question.text, topics[scored.value.topic.id], scored.value.relation_path)
            for each in evidence
            for topics in ({topic.entity.id: topic for topic in each.topics},)
            for scored in each.items[: self.shortlist]
        ]
        read = self.reader.read(pairs)
        yield from attribute_costs("encode", self.reader.encoding_s - encoding_s)
        ends = np.cumsum([len(each.items[: self.shortlist]) for each in evidence])
        parts = np.split(read, ends)
        return [self._rescored(each, part) for each, part in zip(evidence, parts, strict=False)]

    def _rescored(self, evidence: Evidence[Chain], read: FloatArray) -> Evidence[Chain]:
        penalties = compute_link_penalties(evidence.topics, self.link_weight)
        scores = np.array([each.score for each in evidence.items], dtype=np.float32)
        first = evidence.items[: len(read)]
        linked = read + np.array([penalties[each.value.topic.id] for each in first])
        scores[: len(read)] = blend_scores(scores[: len(read)], linked, self.mix)
        lower_other_scores(scores, np.arange(len(read)))
        items = [Scored(each.value, score) for each, score in zip(evidence.items, scores.tolist(), strict=True)]
        order = sorted(range(len(items)), key=lambda i: item_sort_key(items[i]))
        groups = tuple(evidence.groups[i] for i in order) if evidence.groups else ()
        return replace(evidence, items=tuple(items[i] for i in order), groups=groups)
