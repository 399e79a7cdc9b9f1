"""Search relations by the vectors of their words and of the phrases by which people ask for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...models.text.encoders import FloatArray
from ...models.text.vectors import TextVectors
from ..neo4j.catalogue import RelationInfo
from ..values import Scored
from .words import relation_embedding_text, words_of_relation

AT_A_TIME = 10_000
"""Texts whose vectors are fetched together; `TextVectors` holds more."""


class RelationIndex:
    """Nearest relations by cosine: that of a relation is its words', or its best phrase's.

    `vectors` keeps what it encodes from run to run.
    """

    def __init__(self, relations: Sequence[RelationInfo], vectors: TextVectors) -> None:
        self.relations = tuple(relations)
        texts = [_texts_of(relation) for relation in relations]
        self._starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)[:-1]
        rows = [text for some in texts for text in some]
        parts = [vectors.stack(rows[at : at + AT_A_TIME], lasting=True) for at in range(0, len(rows), AT_A_TIME)]
        self._rows = np.concatenate(parts) if parts else np.zeros((0, vectors.encoder.dimension), dtype=np.float32)
        self._numbers = np.array([relation.number for relation in relations], dtype=np.int64)

    def search(self, vectors: FloatArray, top_k: int) -> list[list[Scored[RelationInfo]]]:
        """Return for each vector, (num_queries, dimension), the `top_k` nearest relations with their cosines.

        Ties are broken by the relation's number.
        """
        if not self.relations or not len(vectors):
            return [[] for _ in vectors]
        best = np.maximum.reduceat(vectors @ self._rows.T, self._starts, axis=1)
        order = [np.lexsort((self._numbers, -line))[: max(top_k, 0)].tolist() for line in best]
        return [
            [Scored(self.relations[place], float(line[place])) for place in places]
            for line, places in zip(best, order, strict=True)
        ]

    def nearest(self, vectors: FloatArray, top_k: int) -> list[frozenset[str]]:
        """Return for each vector the names of the `top_k` nearest relations."""
        return [frozenset(each.value.name for each in found) for found in self.search(vectors, top_k)]

    def vectors(self) -> FloatArray:
        """Return the vectors of the relations' own words, (num_relations, dimension), in the order of `relations`."""
        return self._rows[self._starts]


def _texts_of(relation: RelationInfo) -> list[str]:
    meaning = words_of_relation(relation).meaning
    return [relation_embedding_text(relation), *dict.fromkeys((*meaning.forward, *meaning.inverse))]
