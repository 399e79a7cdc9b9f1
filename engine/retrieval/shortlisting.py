"""A shortlist of relations: where a search is offered very many steps, those by the relations nearest to the question.

Scoring a step costs more than looking its relation up in the index, and a hub offers every relation that there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...models.text.vectors import TextVectors
from ..values import Topic
from .scoring import masked_question


class NearestRelations(Protocol):
    """An index of relations: `RelationIndex`."""

    def nearest(self, vectors: npt.NDArray[np.float32], top_k: int) -> list[frozenset[str]]:
        """Return for each vector, (num_queries, dimension), the names of the `top_k` nearest relations."""
        ...


class RelationShortlist:
    """The `num_relations` nearest relations of a question without the mention of its topic.

    For a question that is offered more than `least` steps at a hop.
    """

    def __init__(self, index: NearestRelations, vectors: TextVectors, *, least: int, num_relations: int) -> None:
        self.least = least
        self._index = index
        self._vectors = vectors
        self._num_relations = num_relations

    def relations(self, questions: Sequence[tuple[str, Topic]]) -> dict[tuple[str, Topic], frozenset[str]]:
        """Return the names of the relations kept for each question and topic."""
        asked = list(dict.fromkeys(questions))
        masked = [masked_question(text, topic) for text, topic in asked]
        self._vectors.encode(masked)
        if not asked:
            return {}
        found = self._index.nearest(np.stack([self._vectors.sentence(text) for text in masked]), self._num_relations)
        return dict(zip(asked, found, strict=True))
