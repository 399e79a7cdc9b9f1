"""Baselines that rank entities instead of paths; each entity comes with a shortest path that shows where it lies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...evidence.chain import Chain
from ...values import Question, Scored
from ..whole_graph import Nodes
from .chains import chain_of, distances_from, shortest_path
from .searching import WholeGraphRetriever


class EntityRetriever(WholeGraphRetriever):
    """Ranks the entities within `max_hop` steps of a topic. Equal scores: by the entity's id."""

    @abstractmethod
    def scores(self, topics: list[int], distances: Nodes, /) -> npt.NDArray[np.float64]:
        """Return (num_nodes,), higher is better; `distances` is (num_topics, num_nodes), in steps."""

    def search(self, _question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[Chain]]:
        """Return a shortest path, from the nearest topic, to each of the best entities."""
        distances = np.array([distances_from(self.graph, topic, self.max_hop) for topic in topics])
        scores = self.scores(topics, distances)
        nearest = distances.argmin(axis=0)
        within = (distances.min(axis=0) <= self.max_hop) & ~self.graph.is_mediator
        within[topics] = False
        ends = sorted(np.flatnonzero(within).tolist(), key=lambda node: (-scores[node], self.graph.entities[node].id))
        found = []
        for end in ends[:top_k]:
            topic = topics[nearest[end]]
            path = shortest_path(self.graph, topic, end, distances[nearest[end]])
            found.append(Scored(chain_of(self.graph, topic, path, [self.graph.entities[end]]), float(scores[end])))
        return found
