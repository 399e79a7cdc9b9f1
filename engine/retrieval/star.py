"""The trained path scorer: `models.star` over the candidates of a search.

The dual encoder scores every candidate of every hop; the cross-attentive scorer reads the best `shortlist` of what a
search found, once, all questions of a batch together. Paths are encoded hop by hop and kept, so that a path met before
costs nothing, and relation paths that several topics or questions share are composed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...models.star.mixing import blended
from ...models.star.scoring import Floats, Hops, PairAttention, StarModel
from ...models.verbalise import RelationWords
from ..values import EntityCandidate, RelationPath
from .hops import hops_of
from .scoring import PathQuery, PathScores, masked_question, mention_of


class StarScorer:
    """A `PathScorer` by a checkpoint; `words` has the words of every relation.

    score: the dual encoder's stop and extend. rerank: both networks' scores blended, of the first `shortlist` paths.
    Raises `ValueError` for a `mix` where the checkpoint has one scorer.
    """

    def __init__(
        self,
        words: Mapping[str, RelationWords],
        model: StarModel,
        *,
        shortlist: int | None = None,
        mix: float | None = None,
    ) -> None:
        self.words = words
        self.model = model
        description = model.checkpoint.description
        self.mix = description.mix if mix is None else mix
        if self.mix and description.scorer != "cross":
            raise ValueError("a checkpoint of the scorer similarity has nothing to mix with: its mix is 0")
        self.shortlist = (description.shortlist if shortlist is None else shortlist) if self.mix else 0

    @property
    def encoding_s(self) -> float:
        """Seconds spent in the encoders so far."""
        return self.model.encoding_s

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; the texts of all of them are encoded together."""
        hops = [tuple(hops_of(path, self.words) for path in query.paths) for query in queries]
        self.model.encode_ahead(
            [masked_question(query.question, topic) for query in queries for topic in dict.fromkeys(query.topics)],
            [path for paths in hops for path in paths],
        )
        return [self._dual(query, paths) for query, paths in zip(queries, hops, strict=True)]

    def rerank(self, queries: Sequence[PathQuery], stop: Sequence[Floats]) -> list[Floats]:
        """Return the scores of the first `shortlist` paths of each question by both networks."""
        first = [scores[: self.shortlist] for scores in stop]
        pairs = [
            (query.question, mention_of(topic), hops_of(path, self.words))
            for query, scores in zip(queries, first, strict=True)
            for topic, path, _ in zip(query.topics, query.paths, scores, strict=False)
        ]
        read = self.model.cross(pairs)
        ends = np.cumsum([len(scores) for scores in first])
        return [
            blended(scores, read[end - len(scores) : end], self.mix) for scores, end in zip(first, ends, strict=True)
        ]

    def attention(self, question: str, topic: EntityCandidate, path: RelationPath) -> PairAttention:
        """Return what the cross-attentive scorer attends to; raise `ValueError` where the checkpoint has none."""
        return self.model.attention(question, mention_of(topic), hops_of(path, self.words))

    def _dual(self, query: PathQuery, paths: Sequence[Hops]) -> PathScores:
        stop, extend = np.zeros(len(paths), dtype=np.float32), np.zeros(len(paths), dtype=np.float32)
        for topic, rows in query.rows_by_topic().items():
            masked = masked_question(query.question, topic)
            stop[rows], extend[rows] = self.model.dual(masked, [paths[row] for row in rows])
        return PathScores(stop, extend)
