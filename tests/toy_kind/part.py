"""The toy scorer as a part of a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lodestar.engine.recipes.part import option
from lodestar.engine.recipes.retrieving import SubgraphPart, subgraph_scorer
from lodestar.engine.resources import GraphResources
from lodestar.engine.stages import Retriever
from lodestar.models.training.kind import AnyKind

from tests.toy_kind.config import KIND


@dataclass(frozen=True)
class Toy(SubgraphPart):
    """The triples around the topics, scored by their relations."""

    name: ClassVar[str] = "toy"
    kinds: ClassVar[tuple[AnyKind, ...]] = (KIND,)

    checkpoint: str = option("", "folder of the trained scorer", source="lodestar train tests.toy_kind.config:KIND")

    def retriever(self, graph: GraphResources) -> Retriever:
        from lodestar.engine.retrieval.triples import TripleRetriever

        return TripleRetriever(subgraph_scorer(self, graph), keep=self.keep)
