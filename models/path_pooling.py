"""Pool the scores of triples along paths: Path Pooling."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTriples:
    """The retrieved triples of each question, T of the paper's algorithm 1, with their topics.

    heads, tails: (num_triples,) int64 nodes; scores: (num_triples,) float64. Parallel relations are separate triples, a
    self-loop has head == tail; pooling ignores relation names. topics: (num_topics,) int64 nodes; a topic in no triple
    is an isolated node. node_starts, triple_starts: (num_questions + 1,) int64. Question q has the nodes from
    node_starts[q] to node_starts[q + 1] and the triples from triple_starts[q] to triple_starts[q + 1]; questions share
    no nodes.
    """

    heads: Ints
    tails: Ints
    scores: Floats
    topics: Ints
    node_starts: Ints
    triple_starts: Ints

    @property
    def num_triples(self) -> int:
        return len(self.heads)

    @property
    def questions(self) -> Ints:
        return np.repeat(np.arange(len(self.triple_starts) - 1), np.diff(self.triple_starts))

    @property
    def topic_questions(self) -> Ints:
        return np.searchsorted(self.node_starts, self.topics, side="right") - 1

    def select(self, places: Ints) -> ScoredTriples:
        return ScoredTriples(
            self.heads[places],
            self.tails[places],
            self.scores[places],
            self.topics,
            self.node_starts,
            np.searchsorted(places, self.triple_starts),
        )


def reselect_triples(
    triples: ScoredTriples, keep: int | None, position: float = 1.0, *, coarse: int | None = 500
) -> tuple[Ints, Floats]:
    """Return the places of the kept triples by question, best s' first, and s' of each, (num_kept,) both.

    Path Pooling, section 3.4. Reselection pools each question's `coarse` best triples and keeps `keep` of them (the
    paper: 500, and 25 to 200), or all if there are fewer. Reranking is both None: the same triples in a new order. Ties
    in s' go to the higher score, then to the earlier triple.
    """
    places = np.sort(best_first(triples, triples.scores, coarse))
    candidates = triples.select(places)
    pooled = pool_triple_scores(candidates, position)
    kept = best_first(candidates, pooled, keep)
    return places[kept], pooled[kept]


def best_first(triples: ScoredTriples, by: Floats, limit: int | None) -> Ints:
    """Return the places of each question's best triples, question by question, at most `limit` each."""
    order = np.lexsort((-triples.scores, -by, triples.questions))
    if limit is None:
        return order
    rank = np.arange(len(order)) - np.repeat(triples.triple_starts[:-1], np.diff(triples.triple_starts))
    return order[rank < limit]


def pool_triple_scores(triples: ScoredTriples, position: float = 1.0) -> Floats:
    """Return the smoothed score s' of each triple, (num_triples,); Path Pooling, algorithm 1.

        s_p = mean(s_1 … s_l),  p_i = min(s) / (i · a),  s'(τ) = max over paths p ∋ τ of s_p + p_i

    p: every shortest path from a topic to a node, and from a node to a topic, along the directions of the triples. A
    path's length is its number of triples (the paper states no weights: our reading). i: the place of τ in p, from 1.
    min(s): over all triples of the question. position: a, not 0; the paper does not give it. A triple on no path is its
    own path: a self-loop, one that no topic reaches, one on no shortest path; all of them if no topic is among the
    nodes. Scores should be at least 0, as probabilities are: negative ones make the bonus negative, which prefers
    triples far from a path's start. s' is between min(s) + min(0, min(s) / a) and max(s) + max(0, min(s) / a).
    """
    bonuses = least_scores(triples) / position
    trees = build_shortest_path_trees(triples)
    best = np.full(triples.num_triples, -np.inf)
    np.maximum.at(best, trees.triples, _best_through(trees, triples.scores[trees.triples], bonuses[trees.triples]))
    return np.where(best == -np.inf, triples.scores + bonuses, best)


def _best_through(trees: ShortestPathTrees, scores: Floats, bonuses: Floats) -> Floats:
    """Return the best s_p + bonus / i over the paths through each edge, (num_edges,).

    A path that goes on for k triples beyond an edge has the best sum up to the edge, and the best one of k triples from
    it. On a path from the topic the edge's place is its depth; on one to the topic, read from its other end, it is
    k + 1. Nothing goes on for k triples from the last k depths, so that the rest is a slice.
    """
    starts, sources, targets = trees.edge_starts, trees.sources, trees.targets
    depths = np.repeat(np.arange(trees.num_levels), np.diff(starts))
    so_far, sums = scores.copy(), np.full(trees.num_states, -np.inf)
    sums[: trees.num_roots] = 0.0
    for first, after in pairwise(starts[1:].tolist()):
        so_far[first:after] += sums[sources[first:after]]
        np.maximum.at(sums, targets[first:after], so_far[first:after])
    best = np.full(len(scores), -np.inf)
    beyond = np.zeros(trees.num_states)
    for k in range(trees.num_levels - 1):
        edges = slice(starts[trees.num_levels - k])
        place = np.where(trees.is_turned[edges], k + 1, depths[edges])
        pooled = (so_far[edges] + beyond[targets[edges]]) / (depths[edges] + k) + bonuses[edges] / place
        np.maximum(best[edges], pooled, out=best[edges])
        longer = np.full(trees.num_states, -np.inf)
        np.maximum.at(longer, sources[edges], scores[edges] + beyond[targets[edges]])
        beyond = longer
    return best


def least_scores(triples: ScoredTriples) -> Floats:
    counts = np.diff(triples.triple_starts)
    some = counts > 0
    return np.repeat(np.minimum.reduceat(triples.scores, triples.triple_starts[:-1][some]), counts[some])


def concatenate_ranges(starts: Ints, counts: Ints) -> Ints:
    """Return consecutive numbers from each start, as many as its count, concatenated, (counts.sum(),)."""
    ends = np.cumsum(counts)
    shifts = np.repeat(starts - ends + counts, counts)
    return np.arange(len(shifts)) + shifts


UNREACHED = -2
"""Not a depth, nor one less than a depth."""


@dataclass(frozen=True, slots=True, eq=False)
class ShortestPathTrees:
    """The edges of shortest paths in copies of the questions' graphs, two copies per topic.

    The first copy is rooted at the topic. The second reverses all triples, so that paths to the topic become paths from
    it. States are the reached nodes of the copies, roots first. Edges are sorted by depth, so that a prefix has all
    depths up to d: those into depth d are from edge_starts[d] to edge_starts[d + 1]. sources, targets: (num_edges,)
    states. triples: (num_edges,) the triple of each edge. is_turned: (num_edges,) whether it is in a reversed copy.
    """

    num_states: int
    num_roots: int
    sources: Ints
    targets: Ints
    triples: Ints
    is_turned: Bools
    edge_starts: Ints

    @property
    def num_levels(self) -> int:
        return len(self.edge_starts) - 1


def build_shortest_path_trees(triples: ScoredTriples) -> ShortestPathTrees:
    """Return the trees of every edge that leads one hop further from its root."""
    questions = triples.topic_questions
    num_nodes = np.diff(triples.node_starts)[questions]
    half = int(num_nodes.sum())
    shifts = np.cumsum(num_nodes) - num_nodes - triples.node_starts[questions]
    ways = [(triples.heads, triples.tails, shifts), (triples.tails, triples.heads, shifts + half)]
    sources, targets, copied = map(np.concatenate, zip(*(_copy_triples(triples, *way) for way in ways), strict=True))
    roots = np.concatenate([triples.topics + shifts, triples.topics + shifts + half])
    states, state_starts = _breadth_first(sources, targets, roots, 2 * half)

    depths = np.full(2 * half, UNREACHED)
    depths[states] = np.repeat(np.arange(len(state_starts) - 1), np.diff(state_starts))
    edges = np.flatnonzero(depths[targets] == depths[sources] + 1)
    before = depths[sources[edges]].astype(np.min_scalar_type(len(state_starts)))  # small types sort faster
    order = np.argsort(before, kind="stable")
    edges, before = edges[order], before[order]
    state_of = np.zeros(2 * half, np.int64)
    state_of[states] = np.arange(len(states))
    return ShortestPathTrees(
        len(states),
        len(roots),
        state_of[sources[edges]],
        state_of[targets[edges]],
        copied[edges],
        targets[edges] >= half,
        np.concatenate([[0], np.searchsorted(before, np.arange(len(state_starts) - 1))]),
    )


def _breadth_first(sources: Ints, targets: Ints, roots: Ints, num_states: int) -> tuple[Ints, Ints]:
    """Return the reachable states by depth, and where each depth starts, with one more start at the end.

    sources: (num_edges,) ascending; targets: (num_edges,); roots: (num_roots,), each once.
    """
    leaving = np.zeros(num_states + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=num_states), out=leaving[1:])
    is_reached = np.zeros(num_states, np.bool_)
    is_reached[roots] = True
    place = np.empty(num_states, np.int64)
    levels, starts, frontier = [roots], [0, len(roots)], roots
    while True:
        found = targets[concatenate_ranges(leaving[frontier], leaving[frontier + 1] - leaving[frontier])]
        found = found[~is_reached[found]]
        numbers = np.arange(len(found))
        place[found] = numbers
        frontier = found[place[found] == numbers]  # each once
        if not len(frontier):
            return np.concatenate(levels), np.array(starts)
        is_reached[frontier] = True
        levels.append(frontier)
        starts.append(starts[-1] + len(frontier))


def _copy_triples(triples: ScoredTriples, starts: Ints, ends: Ints, shifts: Ints) -> tuple[Ints, Ints, Ints]:
    """Return sources, targets and triples of each topic's copied edges, (num_edges,) each, by source.

    shifts: (num_topics,) added to a node to give its state in a topic's copy.
    """
    num_triples = np.diff(triples.triple_starts)[triples.topic_questions]
    places = concatenate_ranges(triples.triple_starts[triples.topic_questions], num_triples)
    small = starts.astype(np.min_scalar_type(int(triples.node_starts[-1])))  # small types sort faster
    copied = np.argsort(small, kind="stable")[places]
    shift = np.repeat(shifts, num_triples)
    return starts[copied] + shift, ends[copied] + shift, copied
