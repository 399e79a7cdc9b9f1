"""Scores of triples, pooled along paths, and what is kept by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .shortest import pooled_on_trees
from .triples import Floats, Ints, ScoredTriples, least_scores
from .written import pooled_on_simple_paths, pooled_on_walks

Kernel = Literal["dijkstra", "bfs", "random-walk"]
Pool = Literal["mean", "max"]


@dataclass(frozen=True, slots=True)
class Pooling:
    """How scores are pooled; defaults are the paper's where it says.

    kernel: the paths, from topics to nodes and from nodes to topics, that are pooled along. The shortest (section 3.3);
    all without a node twice, of at most `max_length` triples; or `num_walks` random walks of at most that many triples
    from each topic, and as many to it (section 4.3.1).
    position: a of the position bonus, not 0; the paper does not say which: our reading.
    """

    kernel: Kernel = "dijkstra"
    pool: Pool = "mean"
    position: float = 1.0
    max_length: int = 4
    num_walks: int = 256
    seed: int = 0

    def __post_init__(self) -> None:
        if self.position == 0:
            raise ValueError("the position bonus is divided by a: expected any number but 0")


def pooled_scores(triples: ScoredTriples, pooling: Pooling) -> Floats:
    """Return the smoothed score s' of each triple, (num_triples,); Path Pooling, algorithm 1.

        s_p = mean(s_1 … s_l) (or max),  p_i = min(s) / (i · a),  s'(τ) = max over paths p ∋ τ of s_p + p_i

    i: the place of τ in p, from 1; min(s): over all triples of the question; a: `pooling.position`. A triple on no path
    is a path of its own: a self-loop, one out of reach of every topic, one that no shortest path takes; all of them
    where no topic is among the nodes.
    Scores are meant to be no less than 0, as probabilities are: of negative ones the bonus is negative, so that it
    prefers triples far from a path's start. s' is between min(s) + min(0, min(s) / a) and max(s) + max(0, min(s) / a).
    """
    bonuses = least_scores(triples) / pooling.position
    use_maximum = pooling.pool == "max"
    if pooling.kernel == "dijkstra":
        best = pooled_on_trees(triples, bonuses, use_maximum=use_maximum)
    elif pooling.kernel == "bfs":
        best = pooled_on_simple_paths(triples, bonuses, pooling.max_length, use_maximum=use_maximum)
    else:
        best = pooled_on_walks(
            triples, bonuses, pooling.max_length, pooling.num_walks, pooling.seed, use_maximum=use_maximum
        )
    return np.where(best == -np.inf, triples.scores + bonuses, best)


def reselected(
    triples: ScoredTriples, keep: int | None, pooling: Pooling, *, coarse: int | None = 500
) -> tuple[Ints, Floats]:
    """Return the places of the triples kept, question after question, best s' first, and s' of each, (num_kept,) both.

    Path Pooling, section 3.4. Reselection: of each question the `coarse` triples of the highest scores are pooled, and
    `keep` of them kept (the paper: 500, and 25 to 200), all where there are fewer. Reranking is both None: the same
    triples in a new order. Of equal s' the higher score comes first, then the earlier triple.
    """
    places = best_by_score(triples, coarse)
    candidates = triples.taken(places)
    pooled = pooled_scores(candidates, pooling)
    kept = best_first(candidates, pooled, keep)
    return places[kept], pooled[kept]


def best_by_score(triples: ScoredTriples, coarse: int | None) -> Ints:
    """Return the places of the `coarse` triples of the highest scores of each question, ascending; None: of all."""
    return np.sort(best_first(triples, triples.scores, coarse))


def best_first(triples: ScoredTriples, by: Floats, limit: int | None) -> Ints:
    """Return the places of each question's best triples, question after question, at most `limit` of each."""
    order = np.lexsort((-triples.scores, -by, triples.questions))
    if limit is None:
        return order
    rank = np.arange(len(order)) - np.repeat(triples.triple_starts[:-1], np.diff(triples.triple_starts))
    return order[rank < limit]
