"""A proposer of relations by number and length of the question: a fake whose order is fixed and means nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lodestar.engine.retrieval.subgraphs import FloatArray, RelationQuery


class NumberProposer:
    num_relations = 3

    def score(self, queries: Sequence[RelationQuery]) -> list[FloatArray]:
        return [np.array([self.of(q.question, int(n)) for n in q.relations], dtype=np.float32) for q in queries]

    def choose(self, question: str, relations: Sequence[int]) -> Sequence[int]:
        """The relations that are walked, best first; ties stay in their order."""
        return sorted(relations, key=lambda n: -self.of(question, n))[: self.num_relations]

    @staticmethod
    def of(question: str, number: int) -> int:
        return -((number + len(question)) % 5)
