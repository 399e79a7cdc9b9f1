"""The path scorer that needs no training: `models.similarity` over the candidates of a search.

Every text is encoded once and kept. At each hop all candidates get the composed score, which costs no encoding; the
best `shortlist` of a question also get the exact one, for which the texts of all questions are encoded in one batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...models.encoder import SentenceEncoder
from ...models.shortlist import others_below
from ...models.similarity import (
    UNKNOWN_TYPE,
    Floats,
    Ints,
    Weights,
    composed_cosine,
    score,
    support,
    type_phrase,
)
from ...models.text_vectors import TextVectors
from ...models.verbalise import Hop, RelationWords, reached_type, verbalise_hop, verbalise_path
from ..values import Topic
from .hops import hops_of
from .scoring import PathQuery, PathScores, masked_question


@dataclass(frozen=True, slots=True)
class _Paths:
    """The candidates of one question from one topic, and what of S does not depend on the encoding of their text."""

    rows: Ints
    """(num_paths,) where in the query each candidate stands."""
    masked: str
    hops: list[tuple[Hop, ...]]
    numbers: Ints
    """(num_paths, max_hops) rows of the hop arrays below, −1 after a path's end."""
    hop_vectors: Floats
    hop_support: Floats
    hop_type: Floats
    log_branching: Floats
    num_tokens: int

    def scores(self, cosine: Floats, chosen: Ints, weights: Weights) -> Floats:
        """S of the chosen candidates, (num_chosen,), from their cosines."""
        return score(
            cosine,
            self.numbers[chosen],
            self.hop_support,
            self.hop_type,
            self.log_branching[chosen],
            self.num_tokens,
            weights,
        )


class SimilarityScorer:
    """A `PathScorer` by sentence similarity; `words` has the words of every relation.

    `vectors` are those of another scorer with the same encoder: what that one encoded is not encoded again.

    stop: S with the exact cosine for the `shortlist` best candidates of a question; the others follow below them in the
    order of their composed score. extend: S with the composed cosine.
    """

    def __init__(
        self,
        words: Mapping[str, RelationWords],
        encoder: SentenceEncoder,
        *,
        weights: Weights | None = None,
        shortlist: int = 16,
        vectors: TextVectors | None = None,
    ) -> None:
        self.words = words
        self.weights = weights or Weights()
        self.shortlist = shortlist
        self.vectors = vectors or TextVectors(encoder)

    @property
    def encoding_s(self) -> float:
        """Seconds spent in the encoder so far."""
        return self.vectors.encoding_s

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order; the texts of all of them are encoded together."""
        self._encode_ahead(queries)
        groups = [self._by_topic(query) for query in queries]
        composed = [self._composed(query, parts) for query, parts in zip(queries, groups, strict=True)]
        best = [np.argsort(-scores, kind="stable")[: self.shortlist] for scores in composed]
        self.vectors.encode(
            verbalise_path(hops_of(query.paths[row], self.words))
            for query, rows in zip(queries, best, strict=True)
            for row in rows
        )
        return [
            PathScores(stop=self._exact(parts, extend, rows), extend=extend)
            for parts, extend, rows in zip(groups, composed, best, strict=True)
        ]

    def _encode_ahead(self, queries: Sequence[PathQuery]) -> None:
        """Encode whatever the queries mention that was not met before, in two batches."""
        masked = {masked_question(q.question, topic) for q in queries for topic in set(q.topics)}
        hops = {hop for q in queries for path in q.paths for hop in hops_of(path, self.words)}
        self.vectors.encode_tokens([*sorted(masked), *sorted(map(verbalise_hop, hops))])
        self.vectors.encode([*sorted(map(type_phrase, masked)), *sorted(filter(None, map(reached_type, hops)))])

    def _by_topic(self, query: PathQuery) -> list[_Paths]:
        return [self._paths(query, topic, rows) for topic, rows in query.rows_by_topic().items()]

    def _paths(self, query: PathQuery, topic: Topic, rows: list[int]) -> _Paths:
        masked = masked_question(query.question, topic)
        hops = [hops_of(query.paths[row], self.words) for row in rows]
        number = {hop: i for i, hop in enumerate(dict.fromkeys(hop for path in hops for hop in path))}
        numbers = np.full((len(rows), max(map(len, hops))), -1, dtype=np.int64)
        for i, path in enumerate(hops):
            numbers[i, : len(path)] = [number[hop] for hop in path]
        texts = [verbalise_hop(hop) for hop in number]
        tokens = [self.vectors.tokens(text) for text in texts]
        starts = np.cumsum([0, *(len(t) for t in tokens[:-1])]).astype(np.int64)
        question_tokens = self.vectors.tokens(masked)
        asked_for = self.vectors.sentence(type_phrase(masked))
        kinds = [reached_type(hop) for hop in number]
        return _Paths(
            rows=np.array(rows, dtype=np.int64),
            masked=masked,
            hops=hops,
            numbers=numbers,
            hop_vectors=np.stack([self.vectors.sentence(text) for text in texts]),
            hop_support=support(np.concatenate(tokens), starts, question_tokens),
            hop_type=np.array(
                [self.vectors.sentence(kind) @ asked_for if kind else UNKNOWN_TYPE for kind in kinds], dtype=np.float32
            ),
            log_branching=np.array([query.log_branching[row] for row in rows], dtype=np.float32),
            num_tokens=len(question_tokens),
        )

    def _composed(self, query: PathQuery, parts: Sequence[_Paths]) -> Floats:
        scores = np.zeros(len(query.paths), dtype=np.float32)
        for part in parts:
            cosine = composed_cosine(part.hop_vectors, part.numbers, self.vectors.sentence(part.masked))
            scores[part.rows] = part.scores(cosine, np.arange(len(part.rows)), self.weights)
        return scores

    def _exact(self, parts: Sequence[_Paths], composed: Floats, shortlisted: Ints) -> Floats:
        stop = composed.copy()
        for part in parts:
            chosen = np.flatnonzero(np.isin(part.rows, shortlisted))
            if len(chosen):
                texts = np.stack([self.vectors.sentence(verbalise_path(part.hops[i])) for i in chosen])
                cosine = texts @ self.vectors.sentence(part.masked)
                stop[part.rows[chosen]] = part.scores(cosine, chosen, self.weights)
        others_below(stop, shortlisted)
        return stop
