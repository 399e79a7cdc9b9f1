"""The trained path scorer: `models.star` over the candidates of a search, and over what it found.

The dual encoder scores every candidate of every hop; the cross-attentive scorer reads pairs of question and path. Paths
are encoded hop by hop and kept, so that a path met before costs nothing, and relation paths that several topics or
questions share are composed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...models.star.scoring import Floats, Hops, PairAttention, StarModel
from ...models.verbalise import RelationWords
from ..values import RelationPath, Topic
from .hops import hops_of
from .scoring import PathQuery, PathScores, masked_question, mention_of


class StarScorer:
    """A `PathScorer` and a `PairReader` by a checkpoint; `words` has the words of every relation."""

    def __init__(self, words: Mapping[str, RelationWords], model: StarModel) -> None:
        self.words = words
        self.model = model

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

    def read(self, pairs: Sequence[tuple[str, Topic, RelationPath]]) -> Floats:
        """Return the logits of the cross-attentive scorer, (num_pairs,); equal pairs are read once."""
        return self.model.cross(
            [(question, mention_of(topic), hops_of(path, self.words)) for question, topic, path in pairs]
        )

    def attention(self, question: str, topic: Topic, path: RelationPath) -> PairAttention:
        """Return what the cross-attentive scorer attends to; raise `ValueError` where the checkpoint has none."""
        return self.model.attention(question, mention_of(topic), hops_of(path, self.words))

    def _dual(self, query: PathQuery, paths: Sequence[Hops]) -> PathScores:
        stop, extend = np.zeros(len(paths), dtype=np.float32), np.zeros(len(paths), dtype=np.float32)
        for topic, rows in query.rows_by_topic().items():
            masked = masked_question(query.question, topic)
            stop[rows], extend[rows] = self.model.dual(masked, [paths[row] for row in rows])
        return PathScores(stop, extend)
