"""What is pooled: the scored triples of a batch of questions, as columns of one disjoint graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTriples:
    """The retrieved triples of each question, T of the paper's algorithm 1, and where its topics stand among them.

    heads, tails: (num_triples,) int64 nodes; scores: (num_triples,) float64. Parallel relations are triples of their
    own, a self-loop has head == tail; relations are the caller's, pooling does not look at them.
    topics: (num_topics,) int64 nodes; a topic that no triple holds is a node without triples.
    node_starts, triple_starts: (num_questions + 1,) int64. Question q has the nodes from node_starts[q] to
    node_starts[q + 1] and the triples from triple_starts[q] to triple_starts[q + 1]; no node is two questions'.
    Raises `ValueError` where the columns do not fit together, or a score is not finite.
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
        """Triples of all questions."""
        return len(self.heads)

    @property
    def questions(self) -> Ints:
        """The question of each triple, (num_triples,)."""
        return np.repeat(np.arange(len(self.triple_starts) - 1), np.diff(self.triple_starts))

    @property
    def topic_questions(self) -> Ints:
        """The question of each topic, (num_topics,)."""
        return np.searchsorted(self.node_starts, self.topics, side="right") - 1

    def taken(self, places: Ints) -> ScoredTriples:
        """Return the triples at these places, which ascend; the nodes stay."""
        return ScoredTriples(
            self.heads[places],
            self.tails[places],
            self.scores[places],
            self.topics,
            self.node_starts,
            np.searchsorted(places, self.triple_starts),
        )


def least_scores(triples: ScoredTriples) -> Floats:
    """Return the least score among all triples of the question of each triple, (num_triples,)."""
    counts = np.diff(triples.triple_starts)
    some = counts > 0
    if not some.any():
        return triples.scores
    return np.repeat(np.minimum.reduceat(triples.scores, triples.triple_starts[:-1][some]), counts[some])


def ranges(starts: Ints, counts: Ints) -> Ints:
    """Return the numbers from each start on, as many as counted, one after another, (counts.sum(),)."""
    ends = np.cumsum(counts)
    shifts = np.repeat(starts - ends + counts, counts)
    return np.arange(len(shifts)) + shifts
