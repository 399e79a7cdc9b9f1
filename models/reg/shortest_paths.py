"""Weak supervision: the triples on shortest paths from topics to answers, whichever way each triple points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNREACHED = -1


def on_shortest_paths(heads: Ints, tails: Ints, is_literal: Bools, topics: Ints, is_answer: Bools) -> Bools:
    """Return which triples are on a shortest path from one of the topics to one of the answers, (num_triples,).

    heads, tails: (num_triples,) nodes. is_literal, is_answer: (num_nodes,). Every topic has its own shortest paths to
    every answer that can be reached from it; no path goes through a literal, nor stays where it begins.
    """
    found = np.zeros(len(heads), dtype=np.bool_)
    for topic in topics.tolist():
        hops = hops_from(heads, tails, is_literal, topic)
        wanted = is_answer & (hops > 0)
        for level in range(int(hops[wanted].max(initial=0)), 0, -1):
            for sources, targets in ((heads, tails), (tails, heads)):
                step = (hops[targets] == level) & wanted[targets] & (hops[sources] == level - 1) & ~is_literal[sources]
                found |= step
                wanted[sources[step]] = True
    return found


def hops_from(heads: Ints, tails: Ints, is_literal: Bools, topic: int) -> Ints:
    """Return how many triples each node is from a topic, (num_nodes,), `UNREACHED` where no path leads to it."""
    hops = np.full(len(is_literal), UNREACHED, dtype=np.int64)
    hops[topic] = 0
    level = 0
    while True:
        is_front = (hops == level) & ~is_literal
        reached = np.concatenate([tails[is_front[heads]], heads[is_front[tails]]])
        reached = reached[hops[reached] == UNREACHED]
        if not len(reached):
            return hops
        level += 1
        hops[reached] = level
