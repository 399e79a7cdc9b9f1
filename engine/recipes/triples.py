"""Parts that score the triples of a question's subgraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..errors import UsageError
from ..evidence.evidence import Kind
from ..resources import GraphResources
from ..stages import Retriever
from .part import RetrieverPart, option


@dataclass(frozen=True)
class RegTriple(RetrieverPart):
    """The triples around the topics, scored by a trained network (ReG@Triple, docs/reg.md)."""

    name: ClassVar[str] = "reg-triple"
    gives: ClassVar[Kind] = "triple"

    checkpoint: str = option("", "folder of the trained scorer (docs/reg.md)", source="lodestar train reg-triple")
    keep: int = option(100, "triples kept", source="ReG, appendix E, for small language models", least=1)
    max_topics: int = option(3, "linked entities that a subgraph is read around", least=1, most=20)
    min_link: float = option(0.1, "of the best link's score, what another needs to be read around", least=0, most=1)
    any_graph: bool = option(False, "use the checkpoint on a graph that it was not trained on")

    def check(self) -> None:
        """Raise `UsageError` without a checkpoint."""
        if not self.checkpoint:
            raise UsageError(
                f"part {self.name}: expected the folder of a trained scorer, found none: give --checkpoint FOLDER or "
                f"--set {self.name}.checkpoint=FOLDER, or train one with `lodestar train reg-triple`"
            )

    def retriever(self, graph: GraphResources) -> Retriever:
        """Return the retriever; raises `CheckpointError` for a damaged checkpoint, or one of another graph."""
        from ..retrieval.triples import GraphRelations, TripleRetriever

        model = graph.triple_model(self.checkpoint, any_graph=self.any_graph)
        words = {number: graph.words[name] for number, name in graph.relations.items()}
        return TripleRetriever(
            GraphRelations(graph.relations, words, graph.catalogue.stored_as),
            graph.shared.vectors_of(model.description.encoder),
            model,
            keep=self.keep,
            max_topics=self.max_topics,
            min_link=self.min_link,
        )
