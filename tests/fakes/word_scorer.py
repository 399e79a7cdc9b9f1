"""A path scorer that counts shared words: a fake for tests of the search, so that they need no encoder."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from lodestar.engine.data_model import RelationPath
from lodestar.engine.retrieval import PathQuery, PathScores


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


class WordScorer:
    """stop: words shared by question and path, less a third of a word for each step. extend: words shared."""

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        return [
            PathScores(
                np.array([self.shared(q, p) - len(p.steps) / 3 for p in q.paths], dtype=np.float32),
                np.array([self.shared(q, p) for p in q.paths], dtype=np.float32),
            )
            for q in queries
        ]

    @staticmethod
    def shared(query: PathQuery, path: RelationPath) -> int:
        asked = words(query.question)
        return sum(len(words(step.relation) & asked) for step in path.steps)
