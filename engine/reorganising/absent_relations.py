"""Find what a question asks for where the graph has no relation of that meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from ...models.similarity import PEOPLE
from ...models.text.vectors import TextVectors
from ...models.text.verbalise import RelationMeaning, RelationWords
from ...models.wording.english import lexicon_phrases, list_common_relations
from ..retrieval.scoring import PathQuery, SimilarityScorer, mask_mention
from ..values import RelationPath, RelationStep, Scored, Topic

SAME = 0.8
"""Cosine of two texts from which on they name one relation."""
NEAREST = 8
"""Common relations that are scored, those nearest to the question."""


class AbsentRelations:
    """The relations that knowledge graphs commonly have, and this one lacks.

    "When did Ada die?" is near the date of birth, and nearer the date of death. `words` has those of the graph's
    relations; one is a common relation if its name or a phrase for it means nearly the same. The bounds are our own
    choice (docs/decisions/0043-what-no-relation-of-the-graph-says.md).
    """

    def __init__(self, words: Mapping[str, RelationWords], vectors: TextVectors) -> None:
        self._words = words
        self._vectors = vectors

    def find_best(self, asked: Sequence[tuple[str, Topic]]) -> list[Scored[str] | None]:
        """Return for each question and topic the absent relation that fits best, with the score of its path."""
        if not asked or not self.names:
            return [None] * len(asked)
        masked = self._vectors.stack([mask_mention(text, topic) for text, topic in asked])
        nearest = np.argsort(-(masked @ self._rows.T), axis=1, kind="stable")[:, :NEAREST].tolist()
        names = [[self.names[row] for row in rows] for rows in nearest]
        queries = [
            PathQuery(
                text,
                (topic,) * len(some),
                tuple(RelationPath((RelationStep(name),)) for name in some),
                (0.0,) * len(some),
            )
            for (text, topic), some in zip(asked, names, strict=True)
        ]
        scores = [each.stop for each in self._scorer.score(queries)]
        best = [int(np.argmax(each)) for each in scores]
        return [Scored(some[at], float(each[at])) for some, each, at in zip(names, scores, best, strict=True)]

    @cached_property
    def names(self) -> list[str]:
        """The common relations that the graph lacks."""
        there = {common for found in self._common.values() for common in found}
        return [name for name in list_common_relations() if name not in there]

    def is_common(self, step: RelationStep) -> bool:
        """Whether a step is over a common relation, so that what is absent is another.

        Not the way back: the products of a category are what another graph has as its `product`.
        """
        return not step.inverse and bool(self._common[step.relation])

    @cached_property
    def _common(self) -> dict[str, list[str]]:
        """The common relations that each relation of the graph is."""
        common = list_common_relations()
        meant = {name: (" ".join(words.properties), *words.meaning.forward) for name, words in self._words.items()}
        self._vectors.encode((*common, *chain.from_iterable(meant.values())), lasting=True)
        rows = self._vectors.stack(common)
        best = {name: (rows @ self._vectors.stack(texts).T).max(axis=1) for name, texts in meant.items()}
        return {name: [common[at] for at in np.flatnonzero(cosines >= SAME)] for name, cosines in best.items()}

    @cached_property
    def _rows(self) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.asarray(self._vectors.stack(self.names, lasting=True))

    @cached_property
    def _scorer(self) -> SimilarityScorer:
        words = {name: RelationWords("", (name,), RelationMeaning(*lexicon_phrases(name))) for name in self.names}
        return SimilarityScorer(words, self._vectors.encoder, weights=PEOPLE, shortlist=NEAREST, vectors=self._vectors)
