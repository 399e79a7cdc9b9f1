"""Turn relations into words, and search them by their vectors.

Every scorer, index and training file takes the words of a relation from here. Those of a path are put together in
`models/text/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...models.text import (
    RelationMeaning,
    RelationWords,
    join_without_repeats,
)
from ...models.text.encoders import FloatArray
from ...models.text.vectors import TextVectors
from ..neo4j.catalogue import LABEL_SEPARATOR, Phrase, RelationInfo, phrases_of, type_words
from ..values import Scored

MAX_PHRASES = 40
"""Of a relation and direction, the best trusted first, that scorers read."""


def words_of_relation(relation: RelationInfo, choose: Callable[[Phrase], bool] = lambda _phrase: True) -> RelationWords:
    """Return the words of a relation: its label's parts, the type of its domain, and what people ask for it by.

    choose: which of its phrases are used.
    """
    labels = tuple(relation.label.split(LABEL_SEPARATOR))
    forward, inverse = (
        tuple(dict.fromkeys(p.text for p in phrases_of(relation) if p.inverse == way and choose(p)))[:MAX_PHRASES]
        for way in (False, True)
    )
    return RelationWords(
        type_words(relation.domain), labels, RelationMeaning(forward, inverse, relation.head, relation.tail)
    )


def words_of_relations(relations: Sequence[RelationInfo]) -> dict[str, RelationWords]:
    """Return the words of each relation of a graph, by name.

    General English for "type" is not used where it names a type of the graph: "which category" means Category there.
    """
    types = frozenset(type_words(type_) for relation in relations for type_ in (relation.domain, relation.range))

    def is_said(phrase: Phrase) -> bool:
        return phrase.origin != "lexicon" or types.isdisjoint(phrase.text.split())

    found = {relation.name: words_of_relation(relation) for relation in relations}
    return found | {r.name: words_of_relation(r, is_said) for r in relations if found[r.name].is_type}


def relation_embedding_text(relation: RelationInfo) -> str:
    """Return the text that is embedded for a relation: its words, its domain and its range."""
    words = words_of_relation(relation)
    return join_without_repeats((words.domain, *words.properties, type_words(relation.range)))


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
