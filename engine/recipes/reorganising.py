"""Define the parts after retrieval: those that reorganise evidence, and those that answer from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from ...models.path_pooling import Kernel, PoolingOptions
from ...models.ranges import Count, Positive, Range, Share
from ..answering.extractive import ExtractiveAnswerer
from ..errors import UsageError
from ..evidence.calibration import LEAST_PROBABILITY, Calibration
from ..evidence.evidence import Kind
from ..evidence.text import EVIDENCE_TOKENS, Order
from ..resources import GraphResources
from ..stages import Answerer, Linker, Reorganiser, Retriever
from .part import AnswererPart, ReorganiserPart, WrapperPart, option

Length = Annotated[int, Range(1, 8)]


@dataclass(frozen=True)
class Reorganise(ReorganiserPart):
    """Expands triples to chains from the topics, and merges chains with several answers and chains that meet
    (docs/papers.md).
    """

    name: ClassVar[str] = "reorganise"
    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "chain"

    max_length: Length = option(4, "longest chain, in triples (ReG's L)")
    turning: bool = option(True, "whether a chain may change direction")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        from ..reorganising.chaining import ChainExpander, ExpansionBounds

        return ChainExpander(ExpansionBounds(self.max_length, turning=self.turning))


@dataclass(frozen=True)
class CompleteChains(ReorganiserPart):
    """Reads the triples that are missing on the best chains' relation paths from the graph (docs/how-it-works.md)."""

    name: ClassVar[str] = "complete-chains"
    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    chains: Positive = option(50, "best chains that are completed, the others stay as they are")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        from ..reorganising.chaining import ChainCompleter

        return ChainCompleter(graph.catalogue.stored_as, chains=self.chains)


@dataclass(frozen=True)
class Forms(WrapperPart):
    """Takes questions of a form (how many, both, not, …) apart, and combines their parts (docs/questions.md)."""

    name: ClassVar[str] = "forms"

    least: Share = option(LEAST_PROBABILITY, "below this probability no path is taken for a part of a question")
    where_sure: bool = option(False, "keep the plain answer unless the parts of the question are surer")

    def wrap(self, retriever: Retriever, linker: Linker, graph: GraphResources) -> Retriever:
        from ..forms.form_retriever import FormRetriever

        stored_as = graph.catalogue.stored_as
        return FormRetriever(retriever, linker, stored_as, graph.words, least=self.least, where_sure=self.where_sure)


_POOLING_SOURCE = "Path Pooling, section "


@dataclass(frozen=True)
class PathPooling(ReorganiserPart):
    """Smooths triple scores along the paths from and to the topics, and keeps the best (docs/papers.md)."""

    name: ClassVar[str] = "path-pooling"
    takes: ClassVar[Kind] = "triple"
    gives: ClassVar[Kind] = "triple"

    keep: Count = option(25, "triples kept; 0 keeps all, in their new order", source=f"{_POOLING_SOURCE}4.2")
    coarse: Count = option(500, "best triples to pool; 0 pools all", source=f"{_POOLING_SOURCE}4.2")
    kernel: Kernel = option(
        "dijkstra", "paths to pool along: dijkstra, bfs or random-walk", source=f"{_POOLING_SOURCE}4.3.1"
    )
    position: Annotated[float, Range(1e-6)] = option(1.0, "a, the divisor of the bonus for a position in a path")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        from ..reorganising.pooling import PathPoolingReorganiser

        pooling = PoolingOptions(self.kernel, self.position)
        return PathPoolingReorganiser(pooling, keep=self.keep or None, coarse=self.coarse or None)


Threshold = Annotated[float, Range(0, 2)]
"""Of a confidence, which is at most 1."""

_FI_SOURCE = "GraphRAG-FI, section "


@dataclass(frozen=True)
class FI(ReorganiserPart):
    """Filters evidence into two groups, and adds answers that a language model is sure of (docs/papers.md)."""

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
        from ..answering.integrating import ClosedBookAnswerer, IntegratingAnswerer

        if not (self.integrate and graph.shared.settings.llm_model):
            return answerer  # nothing to integrate
        thresholds = Thresholds(self.tau_graph, self.tau_model)
        _ = graph.shared.chat
        return IntegratingAnswerer(answerer, ClosedBookAnswerer(), thresholds)


@dataclass(frozen=True)
class ModelAnswers(ReorganiserPart):
    """Adds what a language model answers, for a reader that was trained with it to weigh (docs/how-it-works.md)."""

    name: ClassVar[str] = "model-answers"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    evidence: bool = option(True, "ask it with the evidence, too")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        from ..answering.integrating import CLOSED_BOOK, LLM, LanguageModelSources

        answerers = {LLM: LanguageModel(complete=False).answerer(graph)} if self.evidence else {}
        answerers[CLOSED_BOOK] = ClosedBook().answerer(graph)
        return LanguageModelSources(answerers)


@dataclass(frozen=True)
class Extractive(AnswererPart):
    """Answers with the ends of the best chain, without a language model."""

    name: ClassVar[str] = "extractive"

    min_probability: Share = option(LEAST_PROBABILITY, "least probability of the best chain for an answer")
    sure_from: Share = option(0.5, "least probability of the best chain for a sure answer")

    def answerer(self, _graph: GraphResources) -> Answerer:
        return ExtractiveAnswerer(self.min_probability, self.sure_from)


@dataclass(frozen=True)
class ReaderPart(AnswererPart):
    """Scores every candidate of the evidence by features, and chooses the set, without a language model
    (docs/how-it-works.md)."""

    name: ClassVar[str] = "reader"

    checkpoint: str = option(
        "",
        "folder of a reader of your own; empty for the weights that come with Lodestar",
        source="lodestar train reader",
    )
    min_probability: Share = option(LEAST_PROBABILITY, "below this probability of the first answer there is none")
    sure_from: Share = option(0.5, "below this probability of the first answer it is unsure")
    reads: Annotated[int, Range(0, 1_000)] = option(
        0, "items of a question that it reads; 0 for as many as the checkpoint learned from, or 100"
    )
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def answerer(self, graph: GraphResources) -> Answerer:
        """Return the answerer; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        from ...models.reader.model import READS, shipped_reader
        from ..answering.reader import ReaderAnswerer

        shared = graph.shared
        reader, vectors, reads = shared.get_or_make("reader", shipped_reader), shared.vectors, READS
        if self.checkpoint:
            description, reader = graph.model(self.checkpoint, "reader", any_graph=self.any_graph)
            vectors, reads = shared.vectors_for(description), description.reads
        return ReaderAnswerer(
            reader,
            graph.words,
            vectors,
            min_probability=self.min_probability,
            sure_from=self.sure_from,
            reads=self.reads or reads,
        )


@dataclass(frozen=True)
class LanguageModel(AnswererPart):
    """Answers from the evidence with a language model (docs/llm.md)."""

    name: ClassVar[str] = "llm"

    prompt: str = option("", "file of the prompt; empty for the setting llm_prompt, else the default")
    order: Order = option(
        "best-first",
        "order of the evidence in the prompt: best-first, ascending or lost-in-the-middle",
        source="Path Pooling, section 4.3.3",
    )
    reads: Annotated[int, Range(0, 1_000)] = option(0, "items of a question that it reads; 0 for as many as top_k")
    tokens: Annotated[int, Range(50, 1_000_000)] = option(
        EVIDENCE_TOKENS,
        "longest evidence of a prompt, in tokens (estimated); half of it if the model's context is too small",
    )
    choose: bool = option(False, "the model may only answer with names of the evidence")
    complete: bool = option(
        True, "whether all ends of a path are answers where it names two of at most 100, or the only one"
    )

    slope: Annotated[float, Range(0.0, 100.0)] = option(
        0.0, "slope of the probability that the first answer is right, 0 if unknown", source="fitted on dev questions"
    )
    intercept: Annotated[float, Range(-100.0, 100.0)] = option(
        0.0, "intercept of that probability", source="fitted on dev questions"
    )
    min_probability: Share = option(0.0, "least such probability for an answer; needs slope")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("min_probability", "intercept"):
            if getattr(self, name) and not self.slope:
                raise UsageError(
                    f"answerer.{name} of a language model needs answerer.slope: fit slope and intercept on dev "
                    "questions"
                )

    def answerer(self, graph: GraphResources) -> Answerer:
        from ..answering.llm import LLMAnswerer, load_prompt

        shared = graph.shared
        path = self.prompt or shared.settings.llm_prompt
        prompt = load_prompt(Path(path)) if path else None
        _ = shared.chat
        return LLMAnswerer(
            prompt=prompt,
            order=self.order,
            reads=self.reads,
            max_tokens=self.tokens,
            chooses=self.choose,
            completes=self.complete,
            calibration=Calibration("logit", self.slope, self.intercept) if self.slope else None,
            min_probability=self.min_probability,
        )


@dataclass(frozen=True)
class ClosedBook(AnswererPart):
    """Answers with what a language model knows itself; the evidence is not shown to it."""

    name: ClassVar[str] = "closed-book"

    def answerer(self, graph: GraphResources) -> Answerer:
        from ..answering.integrating import ClosedBookAnswerer

        _ = graph.shared.chat
        return ClosedBookAnswerer()
