"""Pool the scores of triples along paths: Path Pooling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Kernel = Literal["dijkstra", "bfs", "random-walk"]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTriples:
    """The retrieved triples of each question, T of the paper's algorithm 1, with their topics.

    heads, tails: (num_triples,) int64 nodes; scores: (num_triples,) float64. Parallel relations are separate triples, a
    self-loop has head == tail; pooling ignores relation names. topics: (num_topics,) int64 nodes; a topic in no triple
    is an isolated node. node_starts, triple_starts: (num_questions + 1,) int64. Question q has the nodes from
    node_starts[q] to node_starts[q + 1] and the triples from triple_starts[q] to triple_starts[q + 1]; questions share
    no nodes. Raises `ValueError` if the columns do not fit together, or a score is not finite.
    """

    heads: Ints
    tails: Ints
    scores: Floats
    topics: Ints
    node_starts: Ints
    triple_starts: Ints

    def __post_init__(self) -> None:
        if not len(self.heads) == len(self.tails) == len(self.scores) == self.triple_starts[-1]:
            raise ValueError(
                f"columns of {self.triple_starts[-1]} triples differ in length: {len(self.heads)} heads, "
                f"{len(self.tails)} tails, {len(self.scores)} scores"
            )
        if not np.isfinite(self.scores).all():
            raise ValueError("a score of a triple is not a finite number")

    @classmethod
    def of_question(cls, heads: Ints, tails: Ints, scores: Floats, topics: Ints, num_nodes: int) -> ScoredTriples:
        """Return the batch of one question, whose nodes are 0 to num_nodes - 1."""
        return cls(heads, tails, scores, topics, np.array([0, num_nodes]), np.array([0, len(heads)]))

    @property
    def num_triples(self) -> int:
        return len(self.heads)

    @property
    def questions(self) -> Ints:
        """The question of each triple, (num_triples,)."""
        return np.repeat(np.arange(len(self.triple_starts) - 1), np.diff(self.triple_starts))

    @property
    def topic_questions(self) -> Ints:
        """The question of each topic, (num_topics,)."""
        return np.searchsorted(self.node_starts, self.topics, side="right") - 1

    def select(self, places: Ints) -> ScoredTriples:
        """Return the triples at these ascending places, with the same nodes."""
        return ScoredTriples(
            self.heads[places],
            self.tails[places],
            self.scores[places],
            self.topics,
            self.node_starts,
            np.searchsorted(places, self.triple_starts),
        )


@dataclass(frozen=True, slots=True)
class PoolingOptions:
    """How scores are pooled; defaults are the paper's where it gives them.

    kernel: the paths from and to topics to pool along: shortest paths (section 3.3), all simple paths of at most
    `max_length` triples, or `num_walks` random walks of at most that length from each topic and as many to it (section
    4.3.1). position: a of the position bonus, not 0; the paper does not give it: our reading.
    """

    kernel: Kernel = "dijkstra"
    position: float = 1.0
    max_length: int = 4
    num_walks: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        if self.position == 0:
            raise ValueError("the position bonus is divided by a: expected any number but 0")


def reselect_triples(
    triples: ScoredTriples, keep: int | None, pooling: PoolingOptions, *, coarse: int | None = 500
) -> tuple[Ints, Floats]:
    """Return the places of the kept triples by question, best s' first, and s' of each, (num_kept,) both.

    Path Pooling, section 3.4. Reselection pools each question's `coarse` best triples and keeps `keep` of them (the
    paper: 500, and 25 to 200), or all if there are fewer. Reranking is both None: the same triples in a new order. Ties
    in s' go to the higher score, then to the earlier triple.
    """
    places = best_by_score(triples, coarse)
    candidates = triples.select(places)
    pooled = pool_triple_scores(candidates, pooling)
    kept = best_first(candidates, pooled, keep)
    return places[kept], pooled[kept]


def best_by_score(triples: ScoredTriples, coarse: int | None) -> Ints:
    """Return the places of each question's `coarse` best triples by score, ascending; None: of all."""
    return np.sort(best_first(triples, triples.scores, coarse))


def best_first(triples: ScoredTriples, by: Floats, limit: int | None) -> Ints:
    """Return the places of each question's best triples, question by question, at most `limit` each."""
    order = np.lexsort((-triples.scores, -by, triples.questions))
    if limit is None:
        return order
    rank = np.arange(len(order)) - np.repeat(triples.triple_starts[:-1], np.diff(triples.triple_starts))
    return order[rank < limit]


def pool_triple_scores(triples: ScoredTriples, pooling: PoolingOptions) -> Floats:
    """Return the smoothed score s' of each triple, (num_triples,); Path Pooling, algorithm 1.

        s_p = mean(s_1 … s_l),  p_i = min(s) / (i · a),  s'(τ) = max over paths p ∋ τ of s_p + p_i

    i: the place of τ in p, from 1; min(s): over all triples of the question; a: `pooling.position`. A triple on no path
    is its own path: a self-loop, one that no topic reaches, one on no shortest path; all of them if no topic is among
    the nodes. Scores should be at least 0, as probabilities are: negative ones make the bonus negative, which prefers
    triples far from a path's start. s' is between min(s) + min(0, min(s) / a) and max(s) + max(0, min(s) / a).
    """
    bonuses = least_scores(triples) / pooling.position
    if pooling.kernel == "dijkstra":
        best = pool_on_trees(triples, bonuses)
    elif pooling.kernel == "bfs":
        best = pool_on_paths(triples, bonuses, lambda out: _simple_paths(out, triples.topics, pooling.max_length))
    else:  # all topics use the same random numbers, so that neither the batch nor the order of triples matters
        drawn = np.random.default_rng(pooling.seed).random((pooling.num_walks, pooling.max_length))
        best = pool_on_paths(triples, bonuses, lambda out: _walks(out, triples.topics, drawn))
    return np.where(best == -np.inf, triples.scores + bonuses, best)


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
    it. States are the reached nodes of the copies. States, and the edges into them, are sorted by depth, so that a
    prefix has all depths up to d. sources, targets: (num_edges,) states. triples: (num_edges,) the triple of each edge.
    state_starts, edge_starts: depth d's states, and the edges into them, are from starts[d] to starts[d + 1].
    is_turned: (num_states,) whether the state is in a reversed copy.
    """

    sources: Ints
    targets: Ints
    triples: Ints
    state_starts: Ints
    edge_starts: Ints
    is_turned: Bools

    @property
    def num_levels(self) -> int:
        """The number of depths, including the roots' 0."""
        return len(self.state_starts) - 1

    def select(self, is_taken: Bools) -> ShortestPathTrees:
        """Return the trees with only these edges; the states stay."""
        edges = np.flatnonzero(is_taken)
        starts = np.searchsorted(edges, self.edge_starts)
        columns = self.sources[edges], self.targets[edges], self.triples[edges]
        return ShortestPathTrees(*columns, self.state_starts, starts, self.is_turned)


def pool_on_trees(triples: ScoredTriples, bonuses: Floats) -> Floats:
    """Return the best S(τ) of each triple over the shortest paths through it, (num_triples,); -inf if there is none.

    Path Pooling, algorithm 1, lines 2 to 10. A path's length is its number of triples (the paper states no weights: our
    reading). Of several shortest paths into a node those of the highest pooled score are taken, all of them if they
    tie, so that neither the order of triples nor node numbers matter. bonuses: (num_triples,) min(s) / a of the
    triple's question.
    """
    best = np.full(triples.num_triples, -np.inf)
    trees, pooled = _best_ways(build_shortest_path_trees(triples), triples.scores)
    state_bonuses = np.zeros(len(pooled))
    state_bonuses[trees.targets] = bonuses[trees.triples]
    values = _best_beneath(trees, pooled, state_bonuses)
    np.maximum.at(best, trees.triples, values[trees.targets])
    return best


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
        state_of[sources[edges]],
        state_of[targets[edges]],
        copied[edges],
        state_starts,
        np.concatenate([[0], np.searchsorted(before, np.arange(len(state_starts) - 1))]),
        states >= half,
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


def _best_ways(trees: ShortestPathTrees, scores: Floats) -> tuple[ShortestPathTrees, Floats]:
    """Return the trees of the best shortest paths, and s_p of the path to each state, (num_states,)."""
    pooled = np.full(len(trees.is_turned), -np.inf)
    num_roots = trees.state_starts[1]
    pooled[:num_roots] = 0.0
    ways = scores[trees.triples]
    for first, after in pairwise(trees.edge_starts[1:].tolist()):
        ways[first:after] += pooled[trees.sources[first:after]]
        np.maximum.at(pooled, trees.targets[first:after], ways[first:after])
    is_best = ways == pooled[trees.targets]
    pooled[num_roots:] /= _depths(trees)[num_roots:]
    return trees.select(is_best), pooled


def _best_beneath(trees: ShortestPathTrees, pooled: Floats, bonuses: Floats) -> Floats:
    """Return the best s_p + bonus / i of the edges into each state, over the paths through them, (num_states,).

    In step k each state holds the best s_p of the paths that end k triples below it. On a path from the topic the
    edge's place is its depth; on a path to the topic, read from its other end, it is k + 1. Nothing is k below the last
    k depths, so that the rest is a slice.
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


def _depths(trees: ShortestPathTrees) -> Ints:
    return np.repeat(np.arange(trees.num_levels), np.diff(trees.state_starts))


BLOCK_PATHS = 1 << 17
"""The number of paths held in memory at once."""


class OutgoingTriples:
    """The triples that leave each node (if reversed, enter it), best first, so that the input order does not matter."""

    def __init__(self, triples: ScoredTriples, *, is_turned: bool) -> None:
        self.sources, self.targets = (triples.tails, triples.heads) if is_turned else (triples.heads, triples.tails)
        self.order = np.lexsort((-triples.scores, self.sources))
        self.counts = np.bincount(self.sources, minlength=int(triples.node_starts[-1]))
        self.starts = np.cumsum(self.counts) - self.counts


def pool_on_paths(
    triples: ScoredTriples, bonuses: Floats, paths_of: Callable[[OutgoingTriples], Iterator[Ints]]
) -> Floats:
    """Return the best S(τ) of each triple over these paths through it, (num_triples,); -inf if there is none.

    paths_of: yields blocks of paths of one length, (num_paths, length) triples in walking order, from the topics, or
    reversed to them. bonuses: (num_triples,) min(s) / a.
    """
    best = np.full(triples.num_triples, -np.inf)
    for is_turned in (False, True):
        for paths in paths_of(OutgoingTriples(triples, is_turned=is_turned)):
            for through, values in _values(paths, triples.scores, bonuses, is_turned):
                np.maximum.at(best, through, values)
    return best


def _values(paths: Ints, scores: Floats, bonuses: Floats, is_turned: bool) -> Iterator[tuple[Ints, Floats]]:
    """Yield, for each place on paths of one length, the triples there and S(τ) of each, (num_paths,) both."""
    length = paths.shape[1]
    pooled = scores[paths[:, 0]]
    for column in range(1, length):
        pooled = pooled + scores[paths[:, column]]
    pooled = pooled / length
    for column in range(length):
        through = paths[:, column]
        yield through, pooled + bonuses[through] / (length - column if is_turned else column + 1)


def _simple_paths(leaving: OutgoingTriples, starts: Ints, max_length: int) -> Iterator[Ints]:
    """Yield all simple paths from the starts in blocks of one length; Path Pooling, section 4.3.1, "BFS"."""
    blocks = [(starts[:, None], np.zeros((len(starts), 0), dtype=np.int64))]
    while blocks:
        nodes, paths = blocks.pop()
        counts = leaving.counts[nodes[:, -1]]
        fitting = max(1, int(np.searchsorted(np.cumsum(counts), BLOCK_PATHS, side="right")))
        if fitting < len(nodes):
            blocks.append((nodes[fitting:], paths[fitting:]))
            nodes, paths, counts = nodes[:fitting], paths[:fitting], counts[:fitting]
        rows = np.repeat(np.arange(len(nodes)), counts)
        added = leaving.order[concatenate_ranges(leaving.starts[nodes[:, -1]], counts)]
        reached = leaving.targets[added]
        new = np.flatnonzero((nodes[rows] != reached[:, None]).all(axis=1))
        nodes = np.column_stack([nodes[rows[new]], reached[new]])
        paths = np.column_stack([paths[rows[new]], added[new]])
        if len(paths):
            yield paths
            if paths.shape[1] < max_length:
                blocks.append((nodes, paths))


def _walks(leaving: OutgoingTriples, starts: Ints, drawn: Floats) -> Iterator[Ints]:
    """Yield walks, which take a random triple at each step up to a dead end; Path Pooling, section 4.3.1.

    drawn: (num_walks, max_length), the choices of each start's walks.
    """
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
