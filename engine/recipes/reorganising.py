"""Define the parts that reorganise evidence: chain expansion, path pooling, GraphRAG-FI and simple filters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from ...models.path_pooling import Kernel, PoolingOptions
from ...models.ranges import Count, Positive, Range, Share
from ..evidence.calibration import LEAST_PROBABILITY
from ..evidence.evidence import Kind
from ..resources import GraphResources
from ..stages import Answerer, Linker, Reorganiser, Retriever
from .part import ReorganiserPart, WrapperPart, describe_field, option

Length = Annotated[int, Range(1, 8)]


@dataclass(frozen=True)
class Reorganise(ReorganiserPart):
    """Expands triples to chains from the topics, and merges chains with several answers and chains that meet
    (docs/reg.md).
    """

    name: ClassVar[str] = "reorganise"
    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "chain"

    max_length: Length = option(4, "longest chain, in triples (ReG's L)")
    turning: bool = option(True, "whether a chain may change direction")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        """Return the expansion."""
        from ..reorganising.chaining import ChainExpander, ExpansionBounds

        return ChainExpander(ExpansionBounds(self.max_length, turning=self.turning))


@dataclass(frozen=True)
class CompleteChains(ReorganiserPart):
    """Reads the triples that are missing on the best chains' relation paths from the graph (docs/reading.md)."""

    name: ClassVar[str] = "complete-chains"
    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    chains: Positive = option(50, "best chains that are completed, the others stay as they are")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the part."""
        from ..reorganising.chaining import ChainCompleter

        return ChainCompleter(graph.catalogue.stored_as, chains=self.chains)


@dataclass(frozen=True)
class Forms(WrapperPart):
    """Takes questions of a form (how many, both, not, the most, …) apart, and combines their parts (docs/forms.md)."""

    name: ClassVar[str] = "forms"

    least: Share = option(LEAST_PROBABILITY, "below this probability no path is taken for a part of a question")
    where_sure: bool = option(False, "keep the plain answer unless the parts of the question are surer")

    def wrap(self, retriever: Retriever, linker: Linker, graph: GraphResources) -> Retriever:
        """Return the retriever that asks another one part by part."""
        from ..forms.form_retriever import FormRetriever

        return FormRetriever(retriever, linker, graph.catalogue.stored_as, least=self.least, where_sure=self.where_sure)


_POOLING_SOURCE = "Path Pooling, section "


@dataclass(frozen=True)
class PathPooling(ReorganiserPart):
    """Smooths triple scores along the paths from and to the topics, and keeps the best (docs/path-pooling.md)."""

    name: ClassVar[str] = "path-pooling"
    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "triple"

    keep: Count = option(25, "triples kept; 0 keeps all, in their new order", source=f"{_POOLING_SOURCE}4.2")
    coarse: Count = option(500, "best triples to pool; 0 pools all", source=f"{_POOLING_SOURCE}4.2")
    kernel: Kernel = field(
        default="dijkstra",
        metadata=describe_field("paths to pool along: dijkstra, bfs or random-walk", source=f"{_POOLING_SOURCE}4.3.1"),
    )
    position: Annotated[float, Range(1e-6)] = option(1.0, "a, the divisor of the bonus for a position in a path")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        """Return the pooling."""
        from ..reorganising.pooling import PathPoolingReorganiser

        pooling = PoolingOptions(self.kernel, self.position)
        return PathPoolingReorganiser(pooling, keep=self.keep or None, coarse=self.coarse or None)


Threshold = Annotated[float, Range(0, 2)]
"""Of a confidence, which is at most 1."""

_FI_SOURCE = "GraphRAG-FI, section "


@dataclass(frozen=True)
class FI(ReorganiserPart):
    """Filters evidence into two groups, and adds answers that a language model is sure of (docs/graphrag-fi.md)."""

    name: ClassVar[str] = "fi"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None
    answers: ClassVar[bool] = True

    model: str = option("", "local causal language model (folder or name) whose attention is the coarse filter")
    coarse: Positive = option(
        50, "items that the coarse filter keeps, at most half of those that came", source=f"{_FI_SOURCE}A.4"
    )
    fine: bool = option(True, "ask the language model which of these are useful", source=f"{_FI_SOURCE}4.1")
    integrate: bool = option(True, "add answers that the language model is sure of", source=f"{_FI_SOURCE}4.2")
    tau_graph: Threshold = option(
        0.5, "least confidence of an answer with the evidence, 2 for none", source=f"{_FI_SOURCE}A.4"
    )
    tau_model: Threshold = option(
        0.995, "least confidence of an answer without it, 2 for none", source=f"{_FI_SOURCE}4.2"
    )

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the filter. Without a language model it is only the coarse one, and the evidence says so."""
        from ..reorganising.filtering import AttentionRelevance, Relevance, RelevanceFilter, SimilarityRelevance

        has_model = bool(graph.shared.settings.llm_model)
        is_fine = self.fine and has_model
        if is_fine:
            _ = graph.shared.chat
        relevance: Relevance = (
            AttentionRelevance(graph.shared.causal_lm(self.model))
            if self.model
            else SimilarityRelevance(graph.shared.vectors)
        )
        without = [f"filtered {relevance.name} alone"] if self.fine else []
        without += ["nothing is added"] if self.integrate else []
        note = f"{self.name}: no language model is configured: {', and '.join(without)}"
        return RelevanceFilter(
            relevance,
            coarse=self.coarse,
            is_fine=is_fine,
            note=note if without and not has_model else "",
        )

    def answerer(self, graph: GraphResources, answerer: Answerer) -> Answerer:
        """Return the recipe's answerer, integrated with the model's own knowledge if configured."""
        from ...models.graphrag_fi import Thresholds
        from ..answering.integrating import AnswerIntegrator, ClosedBookAnswerer, IntegratingAnswerer

        if not (self.integrate and graph.shared.settings.llm_model):
            return answerer  # nothing to integrate
        thresholds = Thresholds(self.tau_graph, self.tau_model)
        _ = graph.shared.chat
        return IntegratingAnswerer(answerer, ClosedBookAnswerer(), AnswerIntegrator(thresholds))


@dataclass(frozen=True)
class ModelAnswers(ReorganiserPart):
    """Adds what a language model answers, for a reader that was trained with it to weigh (docs/reading.md)."""

    name: ClassVar[str] = "model-answers"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    evidence: bool = option(True, "ask it with the evidence, too")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the part. Raises `LLMError` if no model is configured."""
        from ..answering.integrating import CLOSED_BOOK, LLM, LanguageModelSources
        from .answering import ClosedBook, LanguageModel

        answerers = {LLM: LanguageModel(complete=False).answerer(graph)} if self.evidence else {}
        answerers[CLOSED_BOOK] = ClosedBook().answerer(graph)
        return LanguageModelSources(answerers)
