"""Parts that score the triples of a question's subgraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from ..evidence.evidence import Kind
from ..resources import GraphResources
from ..stages import Reorganiser, Retriever
from .part import ReorganiserPart, RetrieverPart, option

if TYPE_CHECKING:
    from ..retrieval.triples import SubgraphScorer, TripleScoring


@dataclass(frozen=True)
class RegTriple(RetrieverPart):
    """The triples around the topics, scored by a trained network (ReG@Triple, docs/reg.md)."""

    name: ClassVar[str] = "reg-triple"
    kinds: ClassVar[tuple[str, ...]] = ("reg-triple",)
    gives: ClassVar[Kind] = "triple"

    checkpoint: str = option("", "folder of the trained scorer (docs/reg.md)", source="lodestar train reg-triple")
    keep: int = option(100, "triples kept", least=1)
    max_topics: int = option(3, "linked entities that a subgraph is read around", least=1, most=20)
    min_link: float = option(0.1, "of the best link's score, what another needs to be read around", least=0, most=1)
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the retriever; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        from ..retrieval.triples import TripleRetriever

        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph)
        return TripleRetriever(subgraph_scorer(self, model, graph), keep=self.keep)


@dataclass(frozen=True)
class RegEntity(RetrieverPart):
    """The triples around the topics, worth what a graph neural network says of their entities (ReG@Entity)."""

    name: ClassVar[str] = "reg-entity"
    kinds: ClassVar[tuple[str, ...]] = ("reg-entity",)
    gives: ClassVar[Kind] = "triple"

    checkpoint: str = option("", "folder of the trained scorer (docs/reg.md)", source="lodestar train reg-entity")
    keep: int = option(300, "pairs of entities whose triples are kept", source="ReG, appendices D.3 and E", least=1)
    max_topics: int = option(3, "linked entities that a subgraph is read around", least=1, most=20)
    min_link: float = option(0.1, "of the best link's score, what another needs to be read around", least=0, most=1)
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the retriever; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        from ..retrieval.triples import TripleRetriever

        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph)
        return TripleRetriever(subgraph_scorer(self, model, graph), keep=self.keep, merge_parallel=True)


@dataclass(frozen=True)
class ChooseEnds(ReorganiserPart):
    """Chains lead to those of their ends whose triples a trained scorer finds near the best (docs/reg.md)."""

    name: ClassVar[str] = "choose-ends"
    kinds: ClassVar[tuple[str, ...]] = ("reg-triple", "reg-entity")
    takes: ClassVar[Kind] = "chain"
    gives: ClassVar[Kind] = "chain"

    checkpoint: str = option(
        "", "folder of the trained scorer (docs/reg.md)", source="lodestar train reg-triple or reg-entity"
    )
    log_odds: float = option(1.0, "by how much a chosen end may be less likely than the best one", least=0)
    chains: int = option(10, "best chains whose ends are chosen among", least=1, most=1_000)
    max_topics: int = option(3, "linked entities that a subgraph is read around", least=1, most=20)
    min_link: float = option(0.1, "of the best link's score, what another needs to be read around", least=0, most=1)
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def reorganiser(self, graph: GraphResources) -> Reorganiser:
        """Return the reorganiser; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        from ..reorganising.choosing_ends import ChosenEnds

        model = graph.model(self.checkpoint, *self.kinds, any_graph=self.any_graph)
        return ChosenEnds(subgraph_scorer(self, model, graph), log_odds=self.log_odds, chains=self.chains)


class SubgraphPart(Protocol):
    """A part that reads subgraphs around linked entities."""

    @property
    def max_topics(self) -> int:
        """Linked entities that a subgraph is read around."""
        ...

    @property
    def min_link(self) -> float:
        """Share of the best link's score that another link needs."""
        ...


def subgraph_scorer(part: SubgraphPart, model: TripleScoring, graph: GraphResources) -> SubgraphScorer:
    """Return what reads the subgraphs of questions and scores their triples with a model."""
    from ..retrieval.triples import GraphRelations, SubgraphScorer

    words = {number: graph.words[name] for number, name in graph.relations.items()}
    return SubgraphScorer(
        GraphRelations(graph.relations, words, graph.catalogue.stored_as),
        graph.shared.vectors_for(model.description),
        model,
        max_topics=part.max_topics,
        min_link=part.min_link,
    )
