"""The ceiling: the relation paths within reach whose end sets agree best with the right answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...evidence.chain import Chain
from ...values import Question, Scored
from ..reachable import reachable
from ..whole_graph import WholeGraph
from .chains import chain_of
from .searching import WholeGraphRetriever


class OracleRetriever(WholeGraphRetriever):
    """Ranks relation paths by the F1 of their end sets, which is their score.

    `gold` has the ids of the right answers by question id. A question without any, or none within reach, gets no path.
    """

    def __init__(
        self, graph: WholeGraph, max_hop: int, gold: Mapping[str, Sequence[str]], *, return_to_topic: bool = False
    ) -> None:
        super().__init__(graph, max_hop)
        self._return_to_topic = return_to_topic
        self._gold = gold

    def search(self, question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[Chain]]:
        """Return the best relation paths."""
        known = [self.graph.numbers[id_] for id_ in self._gold[question.id] if id_ in self.graph.numbers]
        best = reachable(
            self.graph, topics, np.array(known, dtype=np.int64), self.max_hop, return_to_topic=self._return_to_topic
        )[:top_k]
        return [
            Scored(chain_of(self.graph, self.graph.numbers[r.topic.id], r.relation_path, r.ends), r.f1) for r in best
        ]
