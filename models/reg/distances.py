"""Directional distance encoding (SubgraphRAG, section 3.1): how near a node is to the topics, along edges and against.

It begins with the one-hot of being a topic, and takes means over the heads of the triples that enter a node, round by
round; and, beginning anew, over the tails of those that leave it. What every round came to stands side by side.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]


def distance_encoding(heads: Ints, tails: Ints, is_topic: Bools, num_rounds: int) -> Floats:
    """Return the encoding of each node, (num_nodes, 2 + 4 · num_rounds).

    heads, tails: (num_triples,) nodes; parallel triples count each, so that a mean is weighted by them. is_topic:
    (num_nodes,). The columns are [no topic, topic], the rounds along the triples, and the rounds against them; a node
    that none enters (none leaves) has the mean 0 of both.
    """
    start = np.stack([~is_topic, is_topic], axis=1).astype(np.float64)
    columns = [start]
    for sources, targets in ((heads, tails), (tails, heads)):
        counts = np.maximum(np.bincount(targets, minlength=len(is_topic)), 1)
        now = start
        for _ in range(num_rounds):
            sums = [np.bincount(targets, weights=column[sources], minlength=len(is_topic)) for column in now.T]
            now = np.stack(sums, axis=1) / counts[:, None]
            columns.append(now)
    return np.concatenate(columns, axis=1).astype(np.float32)


def encoding_width(num_rounds: int) -> int:
    """Return the number of columns of an encoding."""
    return 2 + 4 * num_rounds
