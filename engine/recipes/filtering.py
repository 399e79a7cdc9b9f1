"""The part that filters evidence and integrates the model's own knowledge: GraphRAG-FI."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from ..errors import UsageError
from ..evidence.evidence import Kind
from ..reorganising.filtering import Filtering
from ..reorganising.relevance import ByAttention, ByReranker, ByScore, Relevance
from ..resources import GraphResources
from ..stages import Answerer, Reorganiser
from .part import ReorganiserPart, described, option

if TYPE_CHECKING:
    from .recipe import Recipe

FilterBy = Literal["similarity", "pagerank", "reranker", "star"]

_SOURCE = "GraphRAG-FI, section "

SHARE = 0.5
"""Of the items, the most that the coarse filter keeps: all of the few that a retriever, or path pooling, gives would be
no filter. Our own choice."""


@dataclass(frozen=True)
class FI(ReorganiserPart):
    """Filters evidence into two groups, and adds what a language model is sure of itself (docs/graphrag-fi.md)."""

    name: ClassVar[str] = "fi"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None
    answers: ClassVar[bool] = True

    model: str = option("", "local causal language model (folder or name) whose attention is the coarse filter")
    checkpoint: str = option("", "trained path scorer (folder, docs/training.md) in its place")
    reranker: str = option("", "cross-encoder (folder or name) in its place; without any the order that came")
    coarse: int = option(
        50, "items that the coarse filter keeps, at most half of those that came", source=f"{_SOURCE}A.4", least=1
    )
    fine: bool = option(True, "ask the language model which of these are useful", source=f"{_SOURCE}4.1")
    second: bool = option(True, "keep what the language model does not call useful, after the rest")
    integrate: bool = option(True, "add what the language model is sure of itself", source=f"{_SOURCE}4.2")
    tau_graph: float = option(
        0.5, "least confidence of an answer with the evidence, 2 for none", source=f"{_SOURCE}A.4", least=0, most=2
    )
    tau_model: float = option(
        0.995, "least confidence of an answer without it, 2 for none", source=f"{_SOURCE}4.2", least=0, most=2
    )
    against: str = option("", "a recipe whose answers take the place of the language model's own")
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def check(self) -> None:
        """Raise `UsageError` where the coarse filter is named twice."""
        named = [way for way in ("model", "checkpoint", "reranker") if getattr(self, way)]
        if len(named) > 1:
            raise UsageError(f"part {self.name}: expected one coarse filter, found {' and '.join(named)}")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the filter: without a language model the coarse one alone, which the evidence says."""
        has_model = bool(graph.shared.settings.llm_model)
        is_fine = self.fine and has_model
        if is_fine:
            _ = graph.shared.chat
        relevance = self._relevance(graph)
        without = [f"filtered {relevance.name} alone"] if self.fine else []
        without += ["nothing is added"] if self.integrate and not self.against else []
        note = f"{self.name}: no language model is configured: {', and '.join(without)}"
        return Filtering(
            relevance,
            coarse=self.coarse,
            is_fine=is_fine,
            share=SHARE,
            second=self.second,
            note=note if without and not has_model else "",
        )

    def answerer(self, graph: GraphResources, answerer: Answerer) -> Answerer:
        """Return the recipe's answerer, joined with the model's own knowledge where that is asked for."""
        from ...models.graphrag_fi.integration import Thresholds
        from ..answering.integrating import Integrating, WithOwnKnowledge
        from ..answering.llm import LLMAnswerer

        if isinstance(answerer, LLMAnswerer):
            answerer = answerer.by_tokens()
        if not self.integrate or not (self.against or graph.shared.settings.llm_model):
            return answerer  # there is nothing to integrate
        thresholds = Thresholds(self.tau_graph, self.tau_model)
        return WithOwnKnowledge(answerer, self._other(graph), Integrating(thresholds))

    def other_recipe(self) -> Recipe | None:
        """Return the recipe whose answers are integrated, None for the model's own; raises `UsageError` for an fi."""
        from .recipe import read_recipe

        if not self.against:
            return None
        recipe = read_recipe(self.against)
        if any(isinstance(part, FI) for part in recipe.parts.values()):
            raise UsageError(f"{self.name}.against: expected a recipe without {self.name}, found {recipe.stages}")
        return recipe

    def _other(self, graph: GraphResources) -> Answerer:
        """Return what answers without the evidence: another recipe, or the language model alone."""
        from ..answering.closed_book import ClosedBook
        from ..answering.other_recipe import OtherRecipe

        if recipe := self.other_recipe():
            pipeline = recipe.pipeline(graph)
            return OtherRecipe(recipe.name, pipeline.retriever, pipeline.answerer, recipe.top_k)
        _ = graph.shared.chat
        return ClosedBook()

    def _relevance(self, graph: GraphResources) -> Relevance:
        if self.model:
            return ByAttention(graph.shared.causal_lm(self.model))
        if self.checkpoint:
            return _by_star(graph, self.checkpoint, any_graph=self.any_graph)
        if self.reranker:
            return ByReranker(graph.shared.reranker(self.reranker))
        return ByScore()


@dataclass(frozen=True)
class Filter(ReorganiserPart):
    """Keeps the most relevant items by a simple filter, which GraphRAG-FI is held against (section 5.1)."""

    name: ClassVar[str] = "filter"
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    by: FilterBy = field(default="similarity", metadata=described("similarity, pagerank, reranker or star"))
    keep: int = option(50, "items kept, in their order", source=f"{_SOURCE}A.4", least=1)
    reranker: str = option("", "of by=reranker: a cross-encoder, folder or name")
    checkpoint: str = option("", "of by=star: folder of the trained path scorer (docs/training.md)")
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def check(self) -> None:
        """Raise `UsageError` where the reranker or the checkpoint is not named."""
        if self.by == "reranker" and not self.reranker:
            raise UsageError(f"part {self.name}: expected a cross-encoder for by=reranker: give {self.name}.reranker")
        if self.by == "star" and not self.checkpoint:
            raise UsageError(f"part {self.name}: expected a trained scorer for by=star: give {self.name}.checkpoint")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the filter."""
        from ..reorganising.simple_relevance import ByPageRank, BySimilarity

        relevance: Relevance
        if self.by == "similarity":
            relevance = BySimilarity(graph.shared.vectors)
        elif self.by == "pagerank":
            relevance = ByPageRank()
        elif self.by == "star":
            relevance = _by_star(graph, self.checkpoint, any_graph=self.any_graph)
        else:
            relevance = ByReranker(graph.shared.reranker(self.reranker))
        return Filtering(relevance, coarse=self.keep, is_fine=False, reorder=False)


def _by_star(graph: GraphResources, checkpoint: str, *, any_graph: bool) -> Relevance:
    from ..reorganising.star_relevance import ByStar  # with PyTorch, which is slow to import
    from ..retrieval.dual_encoder import star_scorer

    model = graph.model(checkpoint, "star", any_graph=any_graph)
    scorer = star_scorer(graph.words, model, graph.shared.vectors_for)
    return ByStar(scorer, is_cross=model.checkpoint.cross is not None)
