"""Define the parts that reorganise evidence: chain expansion, path pooling, GraphRAG-FI and simple filters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from ...models.path_pooling import Kernel, PoolingOptions, PoolMode
from ...models.ranges import Count, Positive, Range, Share
from ..errors import UsageError
from ..evidence.calibration import LEAST_PROBABILITY
from ..evidence.evidence import Kind
from ..neo4j.graph import ExpansionBounds
from ..resources import GraphResources
from ..stages import Answerer, Linker, Reorganiser, Retriever
from .part import ReorganiserPart, WrapperPart, describe_field, option

if TYPE_CHECKING:
    from ..reorganising.relevance import Relevance
    from .recipe import Recipe


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
    join: bool = option(True, "join chains of several topics that meet", source="ReG, appendix D.4.2")
    keep: Positive = option(1_000, "best chains kept per question")
    max_chains: Positive = option(5_000, "chains per length and topic, before merging")
    in_database: bool = option(False, "expand the chains in the database, over the retrieved relationships")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        """Return the expansion."""
        from ..reorganising.chaining import ChainExpander

        bounds = ExpansionBounds(self.max_length, self.max_chains, self.turning)
        return ChainExpander(bounds, self.keep, self.join, self.in_database)


@dataclass(frozen=True)
class CompleteChains(ReorganiserPart):
    """Reads the triples that are missing on the best chains' relation paths from the graph (docs/reading.md)."""

    name: ClassVar[str] = "complete-chains"
    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    chains: Positive = option(50, "best chains that are completed, the others stay as they are")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the part."""
        from ..reorganising.completing import ChainCompleter

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
    pool: PoolMode = field(
        default="mean",
        metadata=describe_field("score of a path from its triples: mean or max", source=f"{_POOLING_SOURCE}4.3.2"),
    )
    position: Annotated[float, Range(1e-6)] = option(1.0, "a, the divisor of the bonus for a position in a path")
    max_length: Length = option(4, "longest path of bfs and random-walk, in triples", source=f"{_POOLING_SOURCE}4.3.1")
    num_walks: Annotated[int, Range(1, 10_000)] = option(
        256, "random walks from and to each topic", source=f"{_POOLING_SOURCE}4.3.1"
    )
    seed: Count = option(0, "of the random walks")

    def reorganiser(self, _graph: GraphResources) -> Reorganiser:
        """Return the pooling."""
        from ..reorganising.pooling import PathPoolingReorganiser

        pooling = PoolingOptions(self.kernel, self.pool, self.position, self.max_length, self.num_walks, self.seed)
        return PathPoolingReorganiser(pooling, keep=self.keep or None, coarse=self.coarse or None)


FilterBy = Literal["similarity", "pagerank", "reranker", "star"]

Threshold = Annotated[float, Range(0, 2)]
"""Of a confidence, which is at most 1."""

_FI_SOURCE = "GraphRAG-FI, section "

SHARE = 0.5
"""The largest share of the items that the coarse filter keeps; keeping all of the few items of a retriever, or of path
pooling, would be no filter. Our own choice.
"""


@dataclass(frozen=True)
class FI(ReorganiserPart):
    """Filters evidence into two groups, and adds answers that a language model is sure of (docs/graphrag-fi.md)."""

    name: ClassVar[str] = "fi"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None
    answers: ClassVar[bool] = True

    model: str = option("", "local causal language model (folder or name) whose attention is the coarse filter")
    checkpoint: str = option("", "trained path scorer (folder, docs/training.md) instead of `model`")
    reranker: str = option("", "cross-encoder (folder or name) instead of `model`; without all three, the given order")
    coarse: Positive = option(
        50, "items that the coarse filter keeps, at most half of those that came", source=f"{_FI_SOURCE}A.4"
    )
    fine: bool = option(True, "ask the language model which of these are useful", source=f"{_FI_SOURCE}4.1")
    second: bool = option(True, "keep what the language model does not call useful, after the rest")
    integrate: bool = option(True, "add answers that the language model is sure of", source=f"{_FI_SOURCE}4.2")
    tau_graph: Threshold = option(
        0.5, "least confidence of an answer with the evidence, 2 for none", source=f"{_FI_SOURCE}A.4"
    )
    tau_model: Threshold = option(
        0.995, "least confidence of an answer without it, 2 for none", source=f"{_FI_SOURCE}4.2"
    )
    against: str = option("", "a recipe whose answers replace the language model's own")
    any_graph: bool = option(False, "allow a checkpoint that was trained on another graph")

    def check(self) -> None:
        """Raise `UsageError` if more than one coarse filter is named."""
        named = [name for name in ("model", "checkpoint", "reranker") if getattr(self, name)]
        if len(named) > 1:
            raise UsageError(f"part {self.name}: expected one coarse filter, found {' and '.join(named)}")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the filter. Without a language model it is only the coarse one, and the evidence says so."""
        from ..reorganising.filtering import RelevanceFilter

        has_model = bool(graph.shared.settings.llm_model)
        is_fine = self.fine and has_model
        if is_fine:
            _ = graph.shared.chat
        relevance = self._relevance(graph)
        without = [f"filtered {relevance.name} alone"] if self.fine else []
        without += ["nothing is added"] if self.integrate and not self.against else []
        note = f"{self.name}: no language model is configured: {', and '.join(without)}"
        return RelevanceFilter(
            relevance,
            coarse=self.coarse,
            is_fine=is_fine,
            share=SHARE,
            second=self.second,
            note=note if without and not has_model else "",
        )

    def answerer(self, graph: GraphResources, answerer: Answerer) -> Answerer:
        """Return the recipe's answerer, integrated with the model's own knowledge if configured."""
        from ...models.graphrag_fi import Thresholds
        from ..answering.integrating import AnswerIntegrator, IntegratingAnswerer

        if not self.integrate or not (self.against or graph.shared.settings.llm_model):
            return answerer  # nothing to integrate
        thresholds = Thresholds(self.tau_graph, self.tau_model)
        return IntegratingAnswerer(answerer, self._other_answerer(graph), AnswerIntegrator(thresholds))

    def other_recipe(self) -> Recipe | None:
        """Return the recipe whose answers are integrated, None for the model's own. Raises `UsageError` if it has an
        fi.
        """
        from .recipe import read_recipe

        if not self.against:
            return None
        recipe = read_recipe(self.against)
        if any(isinstance(part, FI) for part in recipe.parts.values()):
            raise UsageError(f"{self.name}.against: expected a recipe without {self.name}, found {recipe.stages}")
        recipe.check()
        return recipe

    def _other_answerer(self, graph: GraphResources) -> Answerer:
        """Return the answerer without the evidence: another recipe, or the language model alone."""
        from ..answering.integrating import ClosedBookAnswerer, OtherRecipeAnswerer

        if recipe := self.other_recipe():
            pipeline = recipe.pipeline(graph)
            return OtherRecipeAnswerer(recipe.name, pipeline.retriever, pipeline.answerer, recipe.top_k)
        _ = graph.shared.chat
        return ClosedBookAnswerer()

    def _relevance(self, graph: GraphResources) -> Relevance:
        from ..reorganising.relevance import AttentionRelevance, RerankerRelevance, ScoreRelevance

        if self.model:
            return AttentionRelevance(graph.shared.causal_lm(self.model))
        if self.checkpoint:
            return _by_star(graph, self.checkpoint, any_graph=self.any_graph)
        if self.reranker:
            return RerankerRelevance(graph.shared.reranker(self.reranker))
        return ScoreRelevance()


@dataclass(frozen=True)
class ModelAnswers(ReorganiserPart):
    """Adds what a language model answers, for a reader that was trained with it to weigh (docs/reading.md)."""

    name: ClassVar[str] = "model-answers"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    evidence: bool = option(True, "ask it with the evidence")
    closed_book: bool = option(True, "ask it without the evidence")
    reads: Positive = option(10, "items of a question that it reads")

    def check(self) -> None:
        """Raise `UsageError` if it is not asked at all."""
        if not (self.evidence or self.closed_book):
            raise UsageError(f"part {self.name}: expected evidence or closed_book to be true, found neither")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the part. Raises `LLMError` if no model is configured."""
        from ..answering.model_sources import CLOSED_BOOK, LLM, LanguageModelSources
        from .answering import ClosedBook, LanguageModel

        answerers = {LLM: LanguageModel(complete=False).answerer(graph)} if self.evidence else {}
        if self.closed_book:
            answerers[CLOSED_BOOK] = ClosedBook().answerer(graph)
        return LanguageModelSources(answerers, reads=self.reads)


@dataclass(frozen=True)
class Filter(ReorganiserPart):
    """Keeps the most relevant items by a simple filter, the baseline of GraphRAG-FI (section 5.1)."""

    name: ClassVar[str] = "filter"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    by: FilterBy = field(default="similarity", metadata=describe_field("similarity, pagerank, reranker or star"))
    keep: Positive = option(50, "items kept, in their order", source=f"{_FI_SOURCE}A.4")
    reranker: str = option("", "for by=reranker: a cross-encoder, folder or name")
    checkpoint: str = option("", "for by=star: folder of the trained path scorer (docs/training.md)")
    any_graph: bool = option(False, "allow a checkpoint that was trained on another graph")

    def check(self) -> None:
        """Raise `UsageError` if the reranker or the checkpoint is missing."""
        if self.by == "reranker" and not self.reranker:
            raise UsageError(f"part {self.name}: expected a cross-encoder for by=reranker: give {self.name}.reranker")
        if self.by == "star" and not self.checkpoint:
            raise UsageError(f"part {self.name}: expected a trained scorer for by=star: give {self.name}.checkpoint")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the filter."""
        from ..reorganising.filtering import RelevanceFilter
        from ..reorganising.relevance import RerankerRelevance
        from ..reorganising.simple_relevance import PageRankRelevance, SimilarityRelevance

        relevance: Relevance
        if self.by == "similarity":
            relevance = SimilarityRelevance(graph.shared.vectors)
        elif self.by == "pagerank":
            relevance = PageRankRelevance()
        elif self.by == "star":
            relevance = _by_star(graph, self.checkpoint, any_graph=self.any_graph)
        else:
            relevance = RerankerRelevance(graph.shared.reranker(self.reranker))
        return RelevanceFilter(relevance, coarse=self.keep, is_fine=False, reorder=False)


def _by_star(graph: GraphResources, checkpoint: str, *, any_graph: bool) -> Relevance:
    from ..reorganising.relevance import StarRelevance  # PyTorch is slow to import
    from ..retrieval.dual_encoder import star_scorer

    model = graph.model(checkpoint, "star", any_graph=any_graph)
    scorer = star_scorer(graph.words, model, graph.shared.vectors_for)
    return StarRelevance(scorer, is_cross=model.checkpoint.cross is not None)
