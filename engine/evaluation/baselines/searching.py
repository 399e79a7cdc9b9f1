"""What the baselines have in common: a question at a time, over the whole graph, from the topics it was linked to."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

from ...steps import Steps
from ...values import EntityCandidate, Question, Retrieval, RetrievedPath, Scored
from ..whole_graph import WholeGraph


class WholeGraphRetriever(ABC):
    """A `Retriever` without a round trip: all it reads was read when it was made."""

    def __init__(self, graph: WholeGraph, max_hop: int) -> None:
        self.graph = graph
        self.max_hop = max_hop

    @abstractmethod
    def search(self, question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[RetrievedPath]]:
        """Return at most `top_k` paths from the topics, which are nodes of the graph, best first."""

    def retrieve(
        self, questions: Sequence[Question], topics: Sequence[Sequence[Scored[EntityCandidate]]], top_k: int
    ) -> Steps[list[Retrieval]]:
        """Return one retrieval per question; topics that the graph does not have are left out."""
        yield from ()
        retrievals: list[Retrieval] = []
        for question, candidates in zip(questions, topics, strict=True):
            started_s = time.perf_counter()
            known = [c for c in candidates if c.value.entity.id in self.graph.numbers]
            nodes = list(dict.fromkeys(self.graph.numbers[c.value.entity.id] for c in known))
            paths = tuple(self.search(question, nodes, top_k)) if nodes else ()
            seconds = {"search": time.perf_counter() - started_s}
            retrievals.append(Retrieval(question, tuple(known), paths, seconds))
        return retrievals
