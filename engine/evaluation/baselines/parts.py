"""The baselines as parts of recipes. `lodestar eval` hands them the whole graph and the questions of the set."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ...evidence.evidence import Kind
from ...questions.gold import GoldQuestion
from ...recipes.part import ReorganiserPart, RetrieverPart, option
from ...recipes.searching import MAX_HOP
from ...resources import GraphResources
from ...stages import Reorganiser, Retriever
from ..gold_ids import GoldIds
from ..whole_graph import WholeGraph
from .chance import RandomRetriever
from .nearest import ShortestPathRetriever
from .noise import Injecting
from .oracle import OracleRetriever
from .pagerank import PageRankRetriever

MAX_NOISE = 1_000


@dataclass(frozen=True)
class WholeSet:
    """What baselines are given: the graph in memory, and the questions that will be asked."""

    gold: GoldIds
    questions: tuple[GoldQuestion, ...]

    @property
    def graph(self) -> WholeGraph:
        """The graph in memory."""
        return self.gold.graph


@dataclass(frozen=True)
class Baseline(RetrieverPart):
    """A retriever over the whole graph in memory."""

    gives: ClassVar[Kind] = "chain"

    max_hop: int = option(2, "longest path in hops", source="as similarity", least=1, most=MAX_HOP)

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the retriever; raise `UsageError` outside of an evaluation."""
        return self.over(graph.shared.provided(WholeSet, self.name))

    @abstractmethod
    def over(self, given: WholeSet, /) -> Retriever:
        """Return the retriever over the graph of an evaluation."""


@dataclass(frozen=True)
class Oracle(Baseline):
    """The relation paths within reach whose ends agree best with the right answers: the ceiling."""

    name: ClassVar[str] = "oracle"

    return_to_topic: bool = option(False, "an entity that the question is about may be its answer")

    def over(self, given: WholeSet) -> Retriever:
        """Return the oracle, which knows the right answers."""
        gold = {question.id: given.gold.answers(question) for question in given.questions}
        return OracleRetriever(given.graph, self.max_hop, gold, return_to_topic=self.return_to_topic)


@dataclass(frozen=True)
class PageRank(Baseline):
    """Personalised PageRank from the topic entities (Haveliwala 2002)."""

    name: ClassVar[str] = "pagerank"

    def over(self, given: WholeSet) -> Retriever:
        """Return the retriever."""
        return PageRankRetriever(given.graph, self.max_hop)


@dataclass(frozen=True)
class Random(Baseline):
    """Relation paths taken by chance: the floor."""

    name: ClassVar[str] = "random"

    seed: int = option(0, "of what chance draws")

    def over(self, given: WholeSet) -> Retriever:
        """Return the retriever."""
        return RandomRetriever(given.graph, self.max_hop, self.seed)


@dataclass(frozen=True)
class Shortest(Baseline):
    """Shortest paths only: the entities nearest to the topic entities."""

    name: ClassVar[str] = "shortest"

    def over(self, given: WholeSet) -> Retriever:
        """Return the retriever."""
        return ShortestPathRetriever(given.graph, self.max_hop)


@dataclass(frozen=True)
class Noise(ReorganiserPart):
    """Puts hard paths of the same graph at random places among the evidence, to see what filters make of them."""

    name: ClassVar[str] = "noise"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    num: int = option(10, "paths or triples of noise for each question", least=0, most=MAX_NOISE)
    seed: int = option(0, "of what chance draws")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the stage; raise `UsageError` outside of an evaluation."""
        given = graph.shared.provided(WholeSet, self.name)
        gold = {question.id: given.gold.answers(question) for question in given.questions}
        return Injecting(given.graph, gold, self.num, self.seed)


OVER_THE_WHOLE_GRAPH = (Baseline, Noise)
"""Parts that are handed a `WholeSet`."""
