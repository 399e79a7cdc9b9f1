"""Shortest paths from and to the topics, pooled on their trees: no path is ever written out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .triples import Bools, Floats, Ints, ScoredTriples, ranges

UNREACHED = -2
"""No depth, nor one less than a depth."""


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The edges of shortest paths in copies of the questions' graphs, a pair for each topic.

    A topic's first copy is rooted at it; its second has all triples turned round, so that the paths to the topic are
    paths from it there. States are the nodes of the copies that are reached. They, and the edges into them, are in the
    order of their depth, so that what has a depth up to d comes first.
    sources, targets: (num_edges,) states. triples: (num_edges,) what each edge is of. state_starts, edge_starts: depth
    d's states, and the edges into them, are from starts[d] to starts[d + 1]. is_turned: (num_states,) in a second copy.
    """

    sources: Ints
    targets: Ints
    triples: Ints
    state_starts: Ints
    edge_starts: Ints
    is_turned: Bools

    @property
    def num_levels(self) -> int:
        """Depths there are, the roots' 0 included."""
        return len(self.state_starts) - 1

    def taken(self, is_taken: Bools) -> Trees:
        """Return the trees with these edges alone; the states stay."""
        edges = np.flatnonzero(is_taken)
        starts = np.searchsorted(edges, self.edge_starts)
        columns = self.sources[edges], self.targets[edges], self.triples[edges]
        return Trees(*columns, self.state_starts, starts, self.is_turned)


def pooled_on_trees(triples: ScoredTriples, bonuses: Floats, *, use_maximum: bool) -> Floats:
    """Return the best S(τ) of each triple over the shortest paths it is on, -inf of one on none, (num_triples,).

    Path Pooling, algorithm 1, lines 2 to 10. A path's length is its number of triples (the paper states no weights: our
    reading). Where several ways into a node are equally short, that of the highest pooled score is taken, and all that
    are equal in this too, so that neither the order of triples nor the numbers of nodes matter.
    bonuses: (num_triples,) min(s) / a of the triple's question. use_maximum: s_p is the maximum, not the mean.
    """
    best = np.full(triples.num_triples, -np.inf)
    trees, pooled = _best_ways(shortest(triples), triples.scores, use_maximum)
    state_bonuses = np.zeros(len(pooled))
    state_bonuses[trees.targets] = bonuses[trees.triples]
    values = _best_beneath(trees, pooled, state_bonuses)
    np.maximum.at(best, trees.triples, values[trees.targets])
    return best


def shortest(triples: ScoredTriples) -> Trees:
    """Return every edge that leads one hop further from its root."""
    questions = triples.topic_questions
    num_nodes = np.diff(triples.node_starts)[questions]
    half = int(num_nodes.sum())
    shifts = np.cumsum(num_nodes) - num_nodes - triples.node_starts[questions]
    ways = [(triples.heads, triples.tails, shifts), (triples.tails, triples.heads, shifts + half)]
    sources, targets, copied = map(np.concatenate, zip(*(_copied(triples, *way) for way in ways), strict=True))
    roots = np.concatenate([triples.topics + shifts, triples.topics + shifts + half])
    states, state_starts = _breadth_first(sources, targets, roots, 2 * half)

    depths = np.full(2 * half, UNREACHED)
    depths[states] = np.repeat(np.arange(len(state_starts) - 1), np.diff(state_starts))
    edges = np.flatnonzero(depths[targets] == depths[sources] + 1)
    before = depths[sources[edges]].astype(np.min_scalar_type(len(state_starts)))  # a small type is sorted faster
    order = np.argsort(before, kind="stable")
    edges, before = edges[order], before[order]
    state_of = np.zeros(2 * half, np.int64)
    state_of[states] = np.arange(len(states))
    return Trees(
        state_of[sources[edges]],
        state_of[targets[edges]],
        copied[edges],
        state_starts,
        np.concatenate([[0], np.searchsorted(before, np.arange(len(state_starts) - 1))]),
        states >= half,
    )


def _breadth_first(sources: Ints, targets: Ints, roots: Ints, num_states: int) -> tuple[Ints, Ints]:
    """Return the states that the roots reach, by depth, and where each depth starts, one more than there are depths.

    sources: (num_edges,) ascending; targets: (num_edges,); roots: (num_roots,), each once.
    """
    leaving = np.zeros(num_states + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=num_states), out=leaving[1:])
    is_reached = np.zeros(num_states, np.bool_)
    is_reached[roots] = True
    place = np.empty(num_states, np.int64)
    levels, starts, frontier = [roots], [0, len(roots)], roots
    while len(frontier):
        found = targets[ranges(leaving[frontier], leaving[frontier + 1] - leaving[frontier])]
        found = found[~is_reached[found]]
        numbers = np.arange(len(found))
        place[found] = numbers
        frontier = found[place[found] == numbers]  # each once
        is_reached[frontier] = True
        if len(frontier):
            levels.append(frontier)
            starts.append(starts[-1] + len(frontier))
    return np.concatenate(levels), np.array(starts)


def _copied(triples: ScoredTriples, starts: Ints, ends: Ints, shifts: Ints) -> tuple[Ints, Ints, Ints]:
    """Return where each topic's copies of the triples start and end, and the triples, (num_edges,) each, by start.

    shifts: (num_topics,) what makes a node the state of a topic's copy.
    """
    num_triples = np.diff(triples.triple_starts)[triples.topic_questions]
    places = ranges(triples.triple_starts[triples.topic_questions], num_triples)
    small = starts.astype(np.min_scalar_type(int(triples.node_starts[-1])))  # it is sorted faster
    copied = np.argsort(small, kind="stable")[places]
    shift = np.repeat(shifts, num_triples)
    return starts[copied] + shift, ends[copied] + shift, copied


def _best_ways(trees: Trees, scores: Floats, use_maximum: bool) -> tuple[Trees, Floats]:
    """Return the trees of the best of the equally short ways, and s_p of the path to each state, (num_states,)."""
    pooled = np.full(len(trees.is_turned), -np.inf)
    num_roots = trees.state_starts[1]
    if not use_maximum:
        pooled[:num_roots] = 0.0
    join = np.maximum if use_maximum else np.add
    ways = scores[trees.triples]
    for first, after in pairwise(trees.edge_starts[1:].tolist()):
        ways[first:after] = join(pooled[trees.sources[first:after]], ways[first:after])
        np.maximum.at(pooled, trees.targets[first:after], ways[first:after])
    is_best = ways == pooled[trees.targets]
    if not use_maximum:
        pooled[num_roots:] /= _depths(trees)[num_roots:]
    return trees.taken(is_best), pooled


def _best_beneath(trees: Trees, pooled: Floats, bonuses: Floats) -> Floats:
    """Return the best s_p + bonus / i of the edges into each state, over the paths that take them, (num_states,).

    In step k each state holds the best s_p of the paths that end k triples beneath it. There a path from the topic has
    the edge at the place of its depth; a path to the topic, which is read from its other end, at place k + 1. Nothing
    is k beneath the last k depths, so that the rest is a slice.
    """
    by_depth = bonuses / np.maximum(_depths(trees), 1)
    best = pooled + np.where(trees.is_turned, bonuses, by_depth)
    for k in range(1, trees.num_levels - 1):
        edges, upper = slice(trees.edge_starts[-k]), slice(trees.state_starts[-k - 1])
        passed = np.full(upper.stop, -np.inf)
        np.maximum.at(passed, trees.sources[edges], pooled[trees.targets[edges]])
        at_place = np.where(trees.is_turned[upper], bonuses[upper] / (k + 1), by_depth[upper])
        np.maximum(best[upper], passed + at_place, out=best[upper])
        pooled = passed
    return best


def _depths(trees: Trees) -> Ints:
    return np.repeat(np.arange(trees.num_levels), np.diff(trees.state_starts))
