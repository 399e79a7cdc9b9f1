"""Entities near to runs of words of a question, for a question whose words name nothing that is likely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...models.text_vectors import TextVectors
from .index import EntityIndex

MAX_SPAN = 4
"""Words of the longest run."""
MAX_SPANS = 64
"""Runs of a question that are looked for."""


@dataclass(frozen=True, slots=True)
class Near:
    """An entity near to a run of words, from token `start` to before token `end`."""

    id: str
    start: int
    end: int
    cosine: float


class NearestEntities:
    """Looks runs of words up in an entity index: `top_k` for each, with at least the cosine `least`."""

    def __init__(self, index: EntityIndex, vectors: TextVectors, *, top_k: int = 5, least: float = 0.6) -> None:
        self._index, self._vectors = index, vectors
        self._top_k, self._least = top_k, least

    def near(self, words: Sequence[str], is_content: Sequence[bool]) -> list[Near]:
        """Return the entities near to any run of words that begins and ends with one of content, each where it is
        nearest, nearest first, equal ones by id."""
        import numpy as np

        spans = [
            (start, end)
            for size in range(1, MAX_SPAN + 1)
            for start in range(len(words) - size + 1)
            if is_content[start] and is_content[(end := start + size) - 1]
        ][:MAX_SPANS]
        if not spans:
            return []
        texts = [" ".join(words[start:end]) for start, end in spans]
        self._vectors.encode(texts)
        found = self._index.search(np.stack([self._vectors.sentence(text) for text in texts]), self._top_k)
        best: dict[str, Near] = {}
        for (start, end), some in zip(spans, found, strict=True):
            for id_, cosine in some:
                if cosine >= self._least and (id_ not in best or cosine > best[id_].cosine):
                    best[id_] = Near(id_, start, end, min(1.0, cosine))
        return sorted(best.values(), key=lambda each: (-each.cosine, each.id))
