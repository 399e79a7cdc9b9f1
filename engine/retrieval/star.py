"""Score the paths of a beam search with a checkpoint of STAR: the candidates of each hop, and the found chains again.

The dual encoder scores every candidate of every hop; the cross-attentive scorer reads pairs of question and path. Paths
are encoded hop by hop and kept, so that a path met before costs nothing, and relation paths that several topics or
questions share are composed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...models.calibration import lower_scores_except
from ...models.star.shipped import Floats, PairScorer, ShippedStar
from ...models.text import RelationWords
from ...models.text.encoders import EncoderUnavailableError
from ..data_model import Chain, RelationPath, Topic, check_scores_finite
from ..errors import ModelError
from ..evidence import SIMILARITY, Calibration, Evidence, Kind, item_sort_key
from ..linking import compute_link_penalties
from ..parts import TrainedPart, part
from . import PathQuery, PathScores, get_topic_mention, merge_mediator_hops, remove_topic_mention
from .beam import BeamRetriever, OpenedSearch
from .similarity import Similarity

if TYPE_CHECKING:
    from ...models.star.network import StarModel
    from ..context import Context
    from ..resources import EngineResources, GraphResources

SHORTLIST, MIX = 8, 0.02
"""Paths that the shipped scorer reads, and what a logit of its counts beside similarity (models/star/shipped.md)."""


@part("star")
@dataclass(frozen=True)
class Star(TrainedPart, BeamRetriever):
    """Beam search with two trained networks: a dual encoder guides it, a cross-attentive scorer reads the best paths
    (STAR).
    """

    kinds: ClassVar[tuple[str, ...]] = ("star",)

    def check(self) -> None:
        """Nothing is missing: without a checkpoint the shipped scorer reads the paths that similarity finds."""

    def open(self, graph: GraphResources) -> OpenedSearch:
        if not self.checkpoint:  # similarity searches, and the shipped scorer reads the best paths
            read = graph.shared.get_or_make("shipped star", lambda: _open_shipped_reader(graph.shared))
            rescoring = ShortlistRescorer(graph.words, read, SHORTLIST, 1.0, MIX)
            return self.open_search(graph, Similarity().scorer(graph), SIMILARITY, rescoring, doubts=True)
        model: StarModel = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph)
        said = model.description
        calibration = Calibration("logit", *said.calibration)
        rescoring = None
        if said.mix and model.reader is not None:
            link_weight = calibration.from_log_odds(self.link_weight)
            shortlist, mix = said.config.cross.shortlist, said.mix
            rescoring = ShortlistRescorer(graph.words, model.reader, shortlist, 1 - mix, mix, link_weight)
        return self.open_search(graph, DualScorer(graph.words, model), calibration, rescoring, doubts=False)


def _open_shipped_reader(shared: EngineResources) -> PairScorer:
    """Open the shipped scorer. Raises `ModelError` if its encoder's weights are not there."""
    try:
        if shared.placement.is_gpu:
            from ...models.star.network import open_shipped_scorer

            return open_shipped_scorer(shared.device, shared.placement.dtype)
        return ShippedStar()
    except EncoderUnavailableError as error:
        raise ModelError(str(error)) from error


class DualScorer:
    """A `PathScorer` by the dual encoder of a checkpoint; `words` has the words of every relation."""

    def __init__(self, words: Mapping[str, RelationWords], model: StarModel) -> None:
        self.words, self.model = words, model

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; the texts of all of them are encoded together."""
        rows = [query.rows_by_topic() for query in queries]
        asked = [
            (
                remove_topic_mention(query.question, topic),
                [merge_mediator_hops(query.paths[row], self.words) for row in some],
            )
            for query, by_topic in zip(queries, rows, strict=True)
            for topic, some in by_topic.items()
        ]
        scored = iter(self.model.score(asked))
        found = []
        for query, by_topic in zip(queries, rows, strict=True):
            both = np.zeros((2, len(query.paths)), dtype=np.float32)
            for some in by_topic.values():
                both[:, some] = next(scored)
            check_scores_finite(both, "a checkpoint of kind star")
            found.append(PathScores(*both))
        return found


@dataclass(frozen=True, slots=True)
class ShortlistRescorer:
    """Reads chains again with a cross-attentive scorer: of each question the first `shortlist` chains get found · score
    + read · reading.

    words: of every relation. The reading takes part in the link of its topic as the search's score did (`link_weight`).
    All questions of a batch are read together. The chains that were not read follow below, in their order.
    """

    words: Mapping[str, RelationWords]
    reader: PairScorer
    shortlist: int
    found: float
    read: float
    link_weight: float = 0.0
    takes: Kind = "chain"
    gives: Kind = "chain"

    def __call__(self, _ctx: Context, evidence: Sequence[Evidence[Chain]]) -> list[Evidence[Chain]]:
        pairs = []
        for each in evidence:
            topics = {topic.entity.id: topic for topic in each.topics}
            first = [item.value for item in each.items[: self.shortlist]]
            pairs += [(each.question.text, topics[chain.topic.id], chain.relation_path) for chain in first]
        ends = np.cumsum([len(each.items[: self.shortlist]) for each in evidence])
        parts = np.split(self.read_pairs(pairs), ends)
        return [self._rescored(each, part) for each, part in zip(evidence, parts, strict=False)]

    def read_pairs(self, pairs: Sequence[tuple[str, Topic, RelationPath]]) -> Floats:
        """Return the logits of questions with paths from topics, (num_pairs,)."""
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        named = [
            (asked, get_topic_mention(topic), merge_mediator_hops(path, self.words)) for asked, topic, path in pairs
        ]
        scores = self.reader.cross(named)
        check_scores_finite(scores, "a checkpoint of kind star")
        return scores

    def _rescored(self, evidence: Evidence[Chain], reading: Floats) -> Evidence[Chain]:
        penalties = compute_link_penalties(evidence.topics, self.link_weight)
        scores = np.array([each.score for each in evidence.items], dtype=np.float32)
        rows = np.arange(len(reading))
        linked = reading + np.array([penalties[each.value.topic.id] for each in evidence.items[: len(reading)]])
        scores[rows] = self.found * scores[rows] + self.read * linked
        lower_scores_except(scores, rows)
        items = [replace(each, score=score) for each, score in zip(evidence.items, scores.tolist(), strict=True)]
        return replace(evidence, items=tuple(sorted(items, key=item_sort_key)))
