"""Personalised PageRank from the topics, over the graph without directions, relations or words."""

from __future__ import annotations

import igraph
import numpy as np
import numpy.typing as npt

from ..whole_graph import Nodes, WholeGraph
from .entities import EntityRetriever

DAMPING = 0.85


class PageRankRetriever(EntityRetriever):
    """The score is the probability that a walk which restarts at the topics is at the entity (Haveliwala, 2002).

    It restarts with probability 1 - `DAMPING`, at each topic as often; parallel triples count as often as they are.
    """

    def __init__(self, graph: WholeGraph, max_hop: int) -> None:
        super().__init__(graph, max_hop)
        sources = np.repeat(np.arange(len(graph.entities)), np.diff(graph.starts))
        forward = graph.steps > 0
        edges = np.stack([sources[forward], graph.targets[forward]], axis=1)
        self._undirected = igraph.Graph(n=len(graph.entities), edges=edges, directed=False)

    def scores(self, topics: list[int], _distances: Nodes, /) -> npt.NDArray[np.float64]:
        """Return the probabilities."""
        return np.array(self._undirected.personalized_pagerank(damping=DAMPING, reset_vertices=topics))
