"""Score the paths of a beam search by sentence similarity, without training (`models.similarity`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...models.similarity import PathSimilarity, PathsOfTopic, SimilarityWeights
from ...models.text.encoders import SentenceEncoder
from ...models.text.vectors import TextVectors
from ...models.text.verbalise import RelationWords
from .scoring import PathQuery, PathScores, hops_of, mask_mention


class SimilarityScorer:
    """A `PathScorer` by sentence similarity, see `PathSimilarity`; `words` has the words of every relation.

    `vectors` are those of another scorer with the same encoder: what that one encoded is not encoded again.
    """

    def __init__(
        self,
        words: Mapping[str, RelationWords],
        encoder: SentenceEncoder,
        *,
        weights: SimilarityWeights | None = None,
        shortlist: int = 16,
        vectors: TextVectors | None = None,
    ) -> None:
        self.words = words
        self.vectors = vectors or TextVectors(encoder)
        self._similarity = PathSimilarity(self.vectors, weights, shortlist)

    @property
    def encoding_s(self) -> float:
        """Seconds spent in the encoder so far."""
        return self.vectors.encoding_s

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; the texts of all of them are encoded together."""
        rows = [query.rows_by_topic() for query in queries]
        asked = [
            [
                PathsOfTopic(
                    mask_mention(query.question, topic),
                    [hops_of(query.paths[row], self.words) for row in some],
                    [query.log_branching[row] for row in some],
                )
                for topic, some in by_topic.items()
            ]
            for query, by_topic in zip(queries, rows, strict=True)
        ]
        found = []
        for by_topic, (stop, extend) in zip(rows, self._similarity.scores(asked), strict=True):
            places = np.array([row for some in by_topic.values() for row in some], dtype=np.int64)
            order = np.argsort(places)
            found.append(PathScores(stop[order], extend[order]))
        return found
