"""Score the paths of a beam search with a checkpoint of STAR: the candidates of each hop, and the found chains again.

The dual encoder scores every candidate of every hop; the cross-attentive scorer reads pairs of question and path. Paths
are encoded hop by hop and kept, so that a path met before costs nothing, and relation paths that several topics or
questions share are composed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...models.star.examples import Floats
from ...models.star.networks import HopSequence, PairAttention, StarModel
from ...models.text.verbalise import RelationWords
from ..values import RelationPath, Topic, check_finite
from .scoring import Guide, PathQuery, PathScores, mask_mention, merge_mediator_hops, topic_mention


class StarScorer:
    """A `PathScorer` and a `PairReader` by a checkpoint; `words` has the words of every relation.

    With `guide="cross"` the cross-attentive scorer reads every candidate of a hop, of all questions together, and its
    logit is both scores (STAR, algorithm 3): exact, and as slow as there are candidates.
    """

    def __init__(
        self,
        words: Mapping[str, RelationWords],
        model: StarModel,
        guide: Guide = "dual",
    ) -> None:
        self.guide = guide
        self.words = words
        self.model = model

    @property
    def encoding_s(self) -> float:
        """Seconds spent in the encoders so far."""
        return self.model.encoding_s

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; the texts of all of them are encoded together."""
        if self.guide == "cross":
            logits = self.read([(q.question, *pair) for q in queries for pair in zip(q.topics, q.paths, strict=True)])
            ends = np.cumsum([len(query.paths) for query in queries])[:-1]
            return [PathScores(each, each) for each in np.split(logits.astype(np.float32), ends)]
        hops = [tuple(merge_mediator_hops(path, self.words) for path in query.paths) for query in queries]
        self.model.encode_ahead(
            [mask_mention(query.question, topic) for query in queries for topic in dict.fromkeys(query.topics)],
            [path for paths in hops for path in paths],
        )
        return [self._dual(query, paths) for query, paths in zip(queries, hops, strict=True)]

    def read(self, pairs: Sequence[tuple[str, Topic, RelationPath]]) -> Floats:
        """Return the logits of the cross-attentive scorer, (num_pairs,); equal pairs are read once."""
        scores = self.model.cross(
            [(question, topic_mention(topic), merge_mediator_hops(path, self.words)) for question, topic, path in pairs]
        )
        check_finite(scores, "a checkpoint of kind star")
        return scores

    def attention(self, question: str, topic: Topic, path: RelationPath) -> PairAttention:
        """Return what the cross-attentive scorer attends to; raise `ValueError` where the checkpoint has none."""
        return self.model.attention(question, topic_mention(topic), merge_mediator_hops(path, self.words))

    def _dual(self, query: PathQuery, paths: Sequence[HopSequence]) -> PathScores:
        stop, extend = np.zeros(len(paths), dtype=np.float32), np.zeros(len(paths), dtype=np.float32)
        for topic, rows in query.rows_by_topic().items():
            masked = mask_mention(query.question, topic)
            stop[rows], extend[rows] = self.model.dual(masked, [paths[row] for row in rows])
        check_finite(np.stack([stop, extend]), "a checkpoint of kind star")
        return PathScores(stop, extend)
