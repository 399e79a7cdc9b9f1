"""The toy scorer as a part of a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lodestar.engine.evidence.evidence import Kind
from lodestar.engine.recipes.part import RetrieverPart, option
from lodestar.engine.recipes.retrieving import subgraph_scorer
from lodestar.engine.resources import GraphResources
from lodestar.engine.stages import Retriever
from lodestar.models.training.kind import AnyKind

from tests.toy_kind.config import KIND


@dataclass(frozen=True)
class Toy(RetrieverPart):
    """The triples around the topics, scored by their relations."""

    name: ClassVar[str] = "toy"
    kinds: ClassVar[tuple[AnyKind, ...]] = (KIND,)
    gives: ClassVar[Kind] = "triple"

    checkpoint: str = option("", "folder of the trained scorer", source="lodestar train tests.toy_kind.config:KIND")
    max_topics: int = option(3, "linked entities that a subgraph is read around", least=1, most=20)
    min_link: float = option(0.1, "of the best link's score, what another needs to be read around", least=0, most=1)

    def retriever(self, graph: GraphResources) -> Retriever:
        from lodestar.engine.retrieval.triples import TripleRetriever

        return TripleRetriever(subgraph_scorer(self, graph.model(self.checkpoint, *self.kinds), graph), keep=20)
