"""Kernels whose paths are written out, a row each: all simple paths up to a length, and random walks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from .triples import Floats, Ints, ScoredTriples, ranges

BLOCK_PATHS = 1 << 17
"""Paths that are held at once: there may be very many, and they need not be held together."""

Choices = npt.NDArray[np.float64]


class Leaving:
    """The triples that leave each node (or, turned, that enter it), best first, so that their order does not matter."""

    def __init__(self, triples: ScoredTriples, *, is_turned: bool) -> None:
        self.sources, self.targets = (triples.tails, triples.heads) if is_turned else (triples.heads, triples.tails)
        self.order = np.lexsort((-triples.scores, self.sources))
        self.counts = np.bincount(self.sources, minlength=int(triples.node_starts[-1]))
        self.starts = np.cumsum(self.counts) - self.counts


def pooled_on_simple_paths(triples: ScoredTriples, bonuses: Floats, max_length: int, *, use_maximum: bool) -> Floats:
    """Return the best S(τ) of each triple over all paths without a node twice, -inf of one on none, (num_triples,).

    Path Pooling, section 4.3.1, "BFS". Paths start at a topic, or end at one, and have at most `max_length` triples.
    The time grows with their number. bonuses: (num_triples,) min(s) / a. use_maximum: s_p is the maximum, not the mean.
    """
    best = np.full(triples.num_triples, -np.inf)
    for is_turned in (False, True):
        for paths in _simple_paths(Leaving(triples, is_turned=is_turned), triples.topics, max_length):
            for through, values in _values(paths, triples.scores, bonuses, is_turned, use_maximum):
                np.maximum.at(best, through, values)
    return best


def pooled_on_walks(
    triples: ScoredTriples, bonuses: Floats, max_length: int, num_walks: int, seed: int, *, use_maximum: bool
) -> Floats:
    """Return the best S(τ) of each triple over random walks, -inf of one on none, (num_triples,).

    Path Pooling, section 4.3.1, "Random Walk": from each topic, and turned round to each, `num_walks` walks go on to
    one of the triples at hand, all alike likely, until there are `max_length` or there is none. Every topic's walks
    draw the same numbers, so that neither the batch nor the order of triples matters (where scores differ).
    bonuses: (num_triples,) min(s) / a. use_maximum: s_p is the maximum, not the mean.
    """
    best = np.full(triples.num_triples, -np.inf)
    drawn = np.random.default_rng(seed).random((num_walks, max_length))
    for is_turned in (False, True):
        for paths in _walks(Leaving(triples, is_turned=is_turned), triples.topics, drawn):
            for through, values in _values(paths, triples.scores, bonuses, is_turned, use_maximum):
                np.maximum.at(best, through, values)
    return best


def _values(
    paths: Ints, scores: Floats, bonuses: Floats, is_turned: bool, use_maximum: bool
) -> Iterator[tuple[Ints, Floats]]:
    """Yield, for each place of paths of one length, their triples there and S(τ) of each, (num_paths,) both."""
    length = paths.shape[1]
    pooled = scores[paths[:, 0]]
    for column in range(1, length):
        pooled = np.maximum(pooled, scores[paths[:, column]]) if use_maximum else pooled + scores[paths[:, column]]
    if not use_maximum:
        pooled = pooled / length
    for column in range(length):
        through = paths[:, column]
        yield through, pooled + bonuses[through] / (length - column if is_turned else column + 1)


def _simple_paths(leaving: Leaving, starts: Ints, max_length: int) -> Iterator[Ints]:
    """Yield blocks of paths of one length, (num_paths, length) triples in the order they are walked."""
    blocks = [(starts[:, None], np.zeros((len(starts), 0), dtype=np.int64))]
    while blocks:
        nodes, paths = blocks.pop()
        counts = leaving.counts[nodes[:, -1]]
        fitting = max(1, int(np.searchsorted(np.cumsum(counts), BLOCK_PATHS, side="right")))
        if fitting < len(nodes):
            blocks.append((nodes[fitting:], paths[fitting:]))
            nodes, paths, counts = nodes[:fitting], paths[:fitting], counts[:fitting]
        rows = np.repeat(np.arange(len(nodes)), counts)
        added = leaving.order[ranges(leaving.starts[nodes[:, -1]], counts)]
        reached = leaving.targets[added]
        new = np.flatnonzero((nodes[rows] != reached[:, None]).all(axis=1))
        nodes = np.column_stack([nodes[rows[new]], reached[new]])
        paths = np.column_stack([paths[rows[new]], added[new]])
        if len(paths):
            yield paths
            if paths.shape[1] < max_length:
                blocks.append((nodes, paths))


def _walks(leaving: Leaving, starts: Ints, drawn: Choices) -> Iterator[Ints]:
    """Yield the walks of each length, (num_paths, length) triples in the order they are walked."""
    num_walks, max_length = drawn.shape
    nodes = np.repeat(starts, num_walks)
    walk = np.tile(np.arange(num_walks), len(starts))
    paths = np.zeros((len(nodes), 0), dtype=np.int64)
    for length in range(max_length + 1):
        counts = leaving.counts[nodes]
        goes_on = counts > 0 if length < max_length else np.zeros(len(nodes), dtype=np.bool_)
        if length and not goes_on.all():
            yield paths[~goes_on]
        nodes, walk, counts, paths = nodes[goes_on], walk[goes_on], counts[goes_on], paths[goes_on]
        if not len(nodes):
            return
        chosen = (drawn[walk, length] * counts).astype(np.int64)
        added = leaving.order[leaving.starts[nodes] + chosen]
        nodes, paths = leaving.targets[added], np.column_stack([paths, added])
