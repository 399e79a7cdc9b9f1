"""The part that filters evidence and integrates the model's own knowledge: GraphRAG-FI."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from ..errors import UsageError
from ..evidence.evidence import Kind
from ..reorganising.filtering import Filtering
from ..reorganising.relevance import ByAttention, ByReranker, ByScore, Relevance
from ..resources import GraphResources
from ..stages import Answerer, Reorganiser
from .part import ReorganiserPart, described, option

FilterBy = Literal["similarity", "pagerank", "reranker"]

_SOURCE = "GraphRAG-FI, section "


@dataclass(frozen=True)
class FI(ReorganiserPart):
    """Filters evidence into two groups, and adds what a language model is sure of itself (docs/graphrag-fi.md)."""

    name: ClassVar[str] = "fi"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None
    answers: ClassVar[bool] = True

    model: str = option("", "local causal language model (folder or name) whose attention is the coarse filter")
    reranker: str = option("", "cross-encoder (folder or name) in its place; without either the scores that came")
    coarse: int = option(50, "items that the coarse filter keeps", source=f"{_SOURCE}A.4", least=1)
    fine: bool = option(True, "ask the language model which of these are useful", source=f"{_SOURCE}4.1")
    integrate: bool = option(True, "add what the language model is sure of itself", source=f"{_SOURCE}4.2")
    tau_graph: float = option(
        0.5, "least confidence of an answer with the evidence, 2 for none", source=f"{_SOURCE}A.4", least=0, most=2
    )
    tau_model: float = option(
        0.995, "least confidence of an answer without it, 2 for none", source=f"{_SOURCE}4.2", least=0, most=2
    )

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the filter; raises `LLMError` where it asks a language model and none is configured."""
        if self.fine:
            _ = graph.shared.chat
        return Filtering(self._relevance(graph), coarse=self.coarse, is_fine=self.fine)

    def answerer(self, graph: GraphResources, answerer: Answerer) -> Answerer:
        """Return the recipe's answerer, joined with the model's own knowledge where that is asked for."""
        from ...models.graphrag_fi.integration import Thresholds
        from ..answering.closed_book import ClosedBook
        from ..answering.integrating import Integrating, WithOwnKnowledge
        from ..answering.llm import LLMAnswerer

        if isinstance(answerer, LLMAnswerer):
            answerer = answerer.by_tokens()
        if not self.integrate:
            return answerer
        _ = graph.shared.chat
        thresholds = Thresholds(self.tau_graph, self.tau_model)
        return WithOwnKnowledge(answerer, ClosedBook(), Integrating(thresholds))

    def _relevance(self, graph: GraphResources) -> Relevance:
        if self.model:
            return ByAttention(graph.shared.causal_lm(self.model))
        if self.reranker:
            return ByReranker(graph.shared.reranker(self.reranker))
        return ByScore()


@dataclass(frozen=True)
class Filter(ReorganiserPart):
    """Keeps the most relevant items by a simple filter, which GraphRAG-FI is held against (section 5.1)."""

    name: ClassVar[str] = "filter"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    by: FilterBy = field(default="similarity", metadata=described("similarity, pagerank or reranker"))
    keep: int = option(50, "items kept, in their order", source=f"{_SOURCE}A.4", least=1)
    reranker: str = option("", "of by=reranker: a cross-encoder, folder or name")

    def check(self) -> None:
        """Raise `UsageError` where the reranker is not named."""
        if self.by == "reranker" and not self.reranker:
            raise UsageError(f"part {self.name}: expected a cross-encoder for by=reranker: give {self.name}.reranker")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the filter."""
        from ..reorganising.simple_relevance import ByPageRank, BySimilarity

        relevance: Relevance
        if self.by == "similarity":
            relevance = BySimilarity(graph.shared.encoder)
        elif self.by == "pagerank":
            relevance = ByPageRank()
        else:
            relevance = ByReranker(graph.shared.reranker(self.reranker))
        return Filtering(relevance, coarse=self.keep, is_fine=False)
