"""Placeholder until the measured scorer lands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...models.encoder import SentenceEncoder
from ..database.catalogue import Catalogue
from ..relation_index import RelationIndex
from .scoring import PathQuery, PathScores


class SimilarityScorer:
    def __init__(self, catalogue: Catalogue, index: RelationIndex, encoder: SentenceEncoder) -> None:
        self.rows = {r.name: i for i, r in enumerate(catalogue.relations)}
        self.vectors = index.vectors()
        self.encoder = encoder

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        qs = self.encoder.encode([q.question for q in queries])
        out = []
        for q, v in zip(queries, qs, strict=True):
            sims = []
            for p in q.paths:
                m = np.mean([self.vectors[self.rows[s.relation]] for s in p.steps], axis=0)
                sims.append(float(m @ v / np.linalg.norm(m)) - 0.15 * (p.num_hops - 1))
            a = np.array(sims, dtype=np.float32)
            out.append(PathScores(a, a))
        return out
