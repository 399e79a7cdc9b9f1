"""What the baselines have in common: a question at a time, over the whole graph, from the topics it was linked to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ...evidence.chain import Chain
from ...evidence.evidence import Evidence, Kind
from ...steps import Steps, charge
from ...values import LinkedQuestion, Question, Scored
from ..whole_graph import WholeGraph


class WholeGraphRetriever(ABC):
    """A `Retriever` without a round trip: all it reads was read when it was made. Its scores have no calibration."""

    gives: Kind = "chain"

    def __init__(self, graph: WholeGraph, max_hop: int) -> None:
        self.graph = graph
        self.max_hop = max_hop

    @abstractmethod
    def search(self, question: Question, topics: list[int], top_k: int, /) -> Sequence[Scored[Chain]]:
        """Return at most `top_k` chains from the topics, which are nodes of the graph, best first."""

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int) -> Steps[list[Evidence[Chain]]]:
        """Return the chains of each question."""
        yield from charge("search")
        found: list[Evidence[Chain]] = []
        for linked in questions:
            nodes = [self.graph.numbers[t.entity.id] for t in linked.topics if t.entity.id in self.graph.numbers]
            items = tuple(self.search(linked.question, nodes, top_k)) if nodes else ()
            found.append(Evidence(linked.question, linked.topics, "chain", items))
        return found
