"""Weakly connected components of a graph that streams by: memory for its nodes, not for its edges."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

CHUNK_EDGES = 1 << 22

Labels = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


def component_sizes(rows: Iterable[tuple[int, Sequence[int]]], chunk_edges: int = CHUNK_EDGES) -> dict[int, int]:
    """Return how many components of each size there are, whichever way the edges point.

    A row is a node and the nodes it has edges to; every node has one. Nodes are small numbers, best without gaps.
    Memory: about 30 bytes for each number up to the highest, and 30 for each of `chunk_edges` edges.
    """
    labels: Labels = np.empty(0, np.int32)
    is_node: npt.NDArray[np.bool_] = np.empty(0, np.bool_)
    num_labels = 0
    for starts, degrees, ends in _chunks(rows, chunk_edges):
        highest = int(max(starts.max(initial=-1), ends.max(initial=-1)))
        num_new = max(0, highest + 1 - len(labels))
        labels = np.concatenate([labels, np.arange(num_labels, num_labels + num_new, dtype=np.int32)])
        is_node = np.concatenate([is_node, np.zeros(num_new, np.bool_)])
        is_node[starts] = True
        num_labels += num_new
        joined = _joined(num_labels, labels[np.repeat(starts, degrees)], labels[ends])
        num_labels = int(joined.max(initial=-1)) + 1
        labels = joined[labels]
    sizes = np.bincount(labels[is_node], minlength=num_labels)
    found, numbers = np.unique(sizes[sizes > 0], return_counts=True)
    return dict(zip(found.tolist(), numbers.tolist(), strict=True))


def _joined(num_labels: int, one: Labels, other: Labels) -> Labels:
    """Return a new label for each, the same for all that edges join; edges lead from `one` to `other`, (num_edges,)."""
    roots = np.arange(num_labels, dtype=np.int32)
    while len(one):
        one, other = roots[one], roots[other]
        low, high = np.minimum(one, other), np.maximum(one, other)
        apart = low < high
        one, other = low[apart], high[apart]
        np.minimum.at(roots, other, one)
        while not np.array_equal(roots, further := roots[roots]):
            roots = further
    return np.unique(roots, return_inverse=True)[1].astype(np.int32)


def _chunks(rows: Iterable[tuple[int, Sequence[int]]], size: int) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Yield nodes, how many edges each has, and where these lead, at least `size` nodes and edges at a time."""
    starts, degrees, ends = array("q"), array("q"), array("q")
    for node, neighbours in rows:
        starts.append(node)
        degrees.append(len(neighbours))
        ends.extend(neighbours)
        if len(starts) + len(ends) >= size:
            yield np.array(starts), np.array(degrees), np.array(ends)
            starts, degrees, ends = array("q"), array("q"), array("q")
    if starts:
        yield np.array(starts), np.array(degrees), np.array(ends)
