"""Propose the relations to walk with a cheap scorer, before any triple is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ....models.similarity import (
    UNKNOWN_TYPE,
    SimilarityWeights,
    compute_support,
    find_asked_type,
    mask_topic,
    score_paths,
)
from ....models.text.vectors import TextVectors
from ....models.text.verbalise import DirectedRelation, Hop, RelationWords, find_end_type, verbalise_hop

Ints = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RelationQuery:
    """The relations that leave or enter the nodes a question has reached.

    topics: names of the question's topics. relations: (num_candidates,) signed catalogue numbers, negative where a
    relation would be walked from tail to head; each once.
    """

    question: str
    topics: tuple[str, ...]
    relations: Ints


class RelationProposer(Protocol):
    """Scores the relations that may be walked next, for a batch of questions at once."""

    def score(self, queries: Sequence[RelationQuery]) -> list[FloatArray]:
        """Return a score for each candidate of each query, (num_candidates,) each; higher is better. Deterministic."""
        ...


def best_relations(relations: Ints, scores: FloatArray, num_relations: int) -> Ints:
    """Return the at most `num_relations` best, best first; equal scores by number, leaving before entering."""
    order = np.lexsort((-relations, np.abs(relations), -scores))
    return relations[order[:num_relations]]


class SimilarityProposer:
    """A `RelationProposer` by sentence similarity, without training.

    A relation's score is S of `models/similarity.py` for the path that consists of it alone; `words` has the words of
    every catalogue number. What was encoded once is kept.
    """

    def __init__(
        self, words: Mapping[int, RelationWords], vectors: TextVectors, *, weights: SimilarityWeights | None = None
    ) -> None:
        self.words = words
        self.vectors = vectors
        self.weights = weights or SimilarityWeights()
        self._hops: dict[int, _Hop] = {}

    def score(self, queries: Sequence[RelationQuery]) -> list[FloatArray]:
        """Return S of each candidate, as of a path of one hop; the texts of all queries are encoded together."""
        masked = [_masked(query) for query in queries]
        self._learn({int(number) for query in queries for number in query.relations} - self._hops.keys())
        self.vectors.encode_tokens(sorted(set(masked)))
        self.vectors.encode(sorted(set(map(find_asked_type, masked))))
        return [self._scores(text, query.relations) for text, query in zip(masked, queries, strict=True)]

    def _learn(self, numbers: set[int]) -> None:
        hops: dict[int, Hop] = {n: (DirectedRelation(self.words[abs(n)], n < 0),) for n in sorted(numbers)}
        self.vectors.encode_tokens(map(verbalise_hop, hops.values()), lasting=True)
        self.vectors.encode(filter(None, map(find_end_type, hops.values())), lasting=True)
        for number, hop in hops.items():
            text, kind = verbalise_hop(hop), find_end_type(hop)
            self._hops[number] = _Hop(
                self.vectors.sentence(text), self.vectors.tokens(text), self.vectors.sentence(kind) if kind else None
            )

    def _scores(self, masked: str, relations: Ints) -> FloatArray:
        if not len(relations):
            return np.zeros(0, dtype=np.float32)
        hops = [self._hops[int(number)] for number in relations]
        asked_for = self.vectors.sentence(find_asked_type(masked))
        tokens = self.vectors.tokens(masked)
        starts = np.cumsum([0, *(len(hop.tokens) for hop in hops[:-1])], dtype=np.int64)
        return score_paths(
            cosine=np.stack([hop.sentence for hop in hops]) @ self.vectors.sentence(masked),
            paths=np.arange(len(hops)).reshape(-1, 1),
            hop_support=compute_support(np.concatenate([hop.tokens for hop in hops]), starts, tokens),
            hop_type=np.array(
                [UNKNOWN_TYPE if hop.kind is None else hop.kind @ asked_for for hop in hops], dtype=np.float32
            ),
            log_branching=np.zeros(len(hops), dtype=np.float32),
            num_tokens=len(tokens),
            weights=self.weights,
        )


@dataclass(frozen=True, slots=True)
class _Hop:
    """The vectors of a relation in one direction: of its words, of their tokens, and of what it reaches."""

    sentence: FloatArray
    tokens: FloatArray
    kind: FloatArray | None


def _masked(query: RelationQuery) -> str:
    """Return the question without the names of its topics."""
    text = query.question
    for topic in query.topics:
        text = mask_topic(text, topic)
    return text
