"""The floor: relation paths taken by chance."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

import numpy as np

from ...evidence.chain import Chain
from ...values import Question, RelationPath, Scored, Step
from ..whole_graph import Nodes, WholeGraph
from .chains import chain_of
from .searching import WholeGraphRetriever

TRIES_A_PATH = 20


class RandomRetriever(WholeGraphRetriever):
    """Walks from a random topic over a random number of hops, at each by one of the relations that lead on.

    Every relation is as likely as another, whatever the number of its triples. All scores are 0. The same seed and
    question give the same paths.
    """

    def __init__(self, graph: WholeGraph, max_hop: int, seed: int) -> None:
        super().__init__(graph, max_hop)
        self._seed = seed

    def search(self, question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[Chain]]:
        """Return distinct relation paths, fewer than `top_k` where chance finds no more."""
        digest = hashlib.sha256(f"{self._seed}\n{question.id}\n{question.text}".encode()).digest()
        chosen = random.Random(digest)  # noqa: S311 - chance is what is wanted here, not secrecy
        found: dict[tuple[int, RelationPath], Chain] = {}
        for _ in range(TRIES_A_PATH * top_k):
            if len(found) == top_k:
                break
            topic = chosen.choice(topics)
            path, reached = self._walk(chosen, topic, chosen.randint(1, self.max_hop))
            ends = [
                self.graph.entities[node]
                for node in reached.tolist()
                if node not in topics and not self.graph.is_mediator[node]
            ]
            if path and ends and (topic, path) not in found:
                found[topic, path] = chain_of(self.graph, topic, path, ends)
        return [Scored(path, 0.0) for path in found.values()]

    def _walk(self, chosen: random.Random, topic: int, num_hops: int) -> tuple[RelationPath | None, Nodes]:
        frontier = np.array([topic], dtype=np.int64)
        steps: list[Step] = []
        while sum(not step.to_mediator for step in steps) < num_hops:
            _, numbers, targets = self.graph.steps_from(frontier[~self.graph.is_literal[frontier]])
            if not len(numbers):
                return None, frontier
            number = chosen.choice(np.unique(numbers).tolist())
            frontier = np.unique(targets[numbers == number])
            to_mediator = bool(self.graph.is_mediator[frontier].all())
            steps.append(Step(self.graph.relations[abs(number)], number < 0, to_mediator))
            if len(steps) > 2 * self.max_hop:
                return None, frontier
        return RelationPath(tuple(steps)), frontier
