"""The parts of GRIL: what grows and prunes a subgraph, how many triples a question takes, what answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..evidence.evidence import Kind
from ..resources import GraphResources
from ..stages import Answerer, Reorganiser
from .part import AnswererPart, ReorganiserPart, RetrieverPart, option

if TYPE_CHECKING:
    from ..retrieval.growing import GrowingRetriever


@dataclass(frozen=True)
class Gril(RetrieverPart):
    """The triples that a trained network attends to as it grows and prunes a subgraph (GRIL, docs/gril.md)."""

    name: ClassVar[str] = "gril"
    kinds: ClassVar[tuple[str, ...]] = ("gril",)
    gives: ClassVar[Kind] = "triple"

    checkpoint: str = option("", "folder of the trained retriever (docs/gril.md)", source="lodestar train gril")
    keep: int = option(100, "triples kept", least=1)
    max_topics: int = option(3, "linked entities that a subgraph is read around", least=1, most=20)
    min_link: float = option(0.1, "of the best link's score, what another needs to be read around", least=0, most=1)
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def retriever(self, graph: GraphResources) -> GrowingRetriever:
        """Return the retriever; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        from ..retrieval.growing import GrowingRetriever
        from ..retrieval.triples import GraphRelations

        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph).retriever
        words = {number: graph.words[name] for number, name in graph.relations.items()}
        return GrowingRetriever(
            GraphRelations(graph.relations, words, graph.catalogue.stored_as),
            graph.shared.vectors_for(model.description),
            model,
            keep=self.keep,
            max_topics=self.max_topics,
            min_link=self.min_link,
        )


@dataclass(frozen=True)
class AdaptiveK(ReorganiserPart):
    """As many triples as a question takes: so many for each hop that is predicted from its text (docs/gril.md)."""

    name: ClassVar[str] = "adaptive-k"
    kinds: ClassVar[tuple[str, ...]] = ("gril",)
    takes: ClassVar[Kind | None] = None
    gives: ClassVar[Kind | None] = None

    checkpoint: str = option(
        "", "folder that `lodestar train gril` wrote, over any graph", source="lodestar train gril"
    )
    per_hop: int = option(5, "triples kept for each hop", source="GRIL, appendix C.2", least=1)

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the stage; raises `CheckpointError` for a damaged checkpoint."""
        from ..reorganising.adaptive import AdaptiveK as Stage

        return Stage(graph.shared.model(self.checkpoint, *self.kinds).hops, per_hop=self.per_hop)


@dataclass(frozen=True)
class GrilReader(AnswererPart):
    """The reader that learned with a gril answers from its evidence (docs/gril.md)."""

    name: ClassVar[str] = "gril"
    kinds: ClassVar[tuple[str, ...]] = ("gril",)

    checkpoint: str = option("", "folder of a gril that learned with a reader", source="lodestar train gril --reader")

    def answerer(self, graph: GraphResources) -> Answerer:
        """Return the answerer; raises `CheckpointError` for a checkpoint that is damaged or has no reader."""
        from ...models.verbalise import Directed, verbalise_hop
        from ..answering.choosing import ChoosingAnswerer
        from ..answering.pointing import PointingAnswerer
        from ..answering.reading import Passages
        from ..answering.writing import WritingAnswerer

        self.check()
        texts = {name: verbalise_hop((Directed(words),)) for name, words in graph.words.items()}
        model = graph.shared.model(self.checkpoint, *self.kinds)
        reader = model.reader
        passages = Passages(reader, model.hops, texts)
        kinds: dict[str, Callable[[Passages], Answerer]] = {
            "pointing": PointingAnswerer,
            "choosing": ChoosingAnswerer,
            "writing": WritingAnswerer,
        }
        return kinds[reader.description.reads](passages)
