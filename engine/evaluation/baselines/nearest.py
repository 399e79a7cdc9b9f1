"""Shortest paths only: the entities nearest to all topics, whatever is asked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..whole_graph import Nodes
from .entities import EntityRetriever


class ShortestPathRetriever(EntityRetriever):
    """The score is minus the sum of the distances from the topics, in steps.

    Our own reading of "shortest path" as a baseline that does not know the answer.
    """

    def scores(self, _topics: list[int], distances: Nodes, /) -> npt.NDArray[np.float64]:
        """Return minus the sum of the distances."""
        total: npt.NDArray[np.float64] = distances.sum(axis=0).astype(np.float64)
        return -total
