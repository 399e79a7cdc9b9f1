"""Parts that link questions to entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...models.text.vectors import TextVectors
from ..indexes.entity_index import Kinds, NearestEntities
from ..linking.full_text import FullTextLinker
from ..linking.relation_evidence import RelationEvidence
from ..linking.values import LinkingValues
from ..resources import GraphResources
from ..stages import Linker
from .part import LinkerPart, option


@dataclass(frozen=True)
class FullText(LinkerPart):
    """Links by names and aliases over the full-text index, and by the relations at what they name."""

    name: ClassVar[str] = "full-text"

    pool: int = option(100, "entities read for a question", least=1, most=1_000)
    per_word: int = option(10, "entities read for each of its words, beside", least=1, most=1_000)
    top_k: int = option(10, "candidates kept", least=1, most=100)
    min_similarity: float = option(0.8, "agreement of a name with its mention, 1 is equal", least=0, most=1)
    nearest: bool = option(True, "use the entity index, where there is one (lodestar index entities)")
    relations: bool = option(True, "weigh candidates by the relations at them, too")
    values: bool = option(True, "a date, a number or a text in quotes may be a literal that the question is about")

    def linker(self, graph: GraphResources) -> Linker:
        """Return the linker."""
        linker = FullTextLinker(
            self.pool,
            self.per_word,
            self.top_k,
            self.min_similarity,
            graph.type_words,
            relation_evidence(graph, graph.shared.vectors) if self.relations else None,
            nearest=nearest_entities(graph) if self.nearest else None,
        )
        return LinkingValues(linker) if self.values else linker


@dataclass(frozen=True)
class Trained(LinkerPart):
    """The same candidates, weighed by a trained network."""

    name: ClassVar[str] = "trained"
    kinds: ClassVar[tuple[str, ...]] = ("linker",)

    checkpoint: str = option("", "folder of the trained linker (docs/linking.md)", source="lodestar train linker")
    pool: int = option(100, "entities read for a question", least=1, most=1_000)
    per_word: int = option(10, "entities read for each of its words, beside", least=1, most=1_000)
    top_k: int = option(10, "candidates kept", least=1, most=100)
    min_similarity: float = option(0.8, "agreement of a name with its mention, 1 is equal", least=0, most=1)
    values: bool = option(True, "a date, a number or a text in quotes may be a literal that the question is about")

    def linker(self, graph: GraphResources) -> Linker:
        """Return the linker; raises `CheckpointError` for a checkpoint that cannot be read."""
        from ..linking.trained import trained_weighing  # with PyTorch, which is slow to import

        self.check()
        model = trained_weighing(self.checkpoint, *graph.shared.model(self.checkpoint, *self.kinds))
        evidence = relation_evidence(graph, graph.shared.vectors_for(model.description))
        linker = FullTextLinker(
            self.pool,
            self.per_word,
            self.top_k,
            self.min_similarity,
            graph.type_words,
            evidence,
            model,
            model.description.candidates,
            nearest_entities(graph),
        )
        return LinkingValues(linker) if self.values else linker


def relation_evidence(graph: GraphResources, vectors: TextVectors) -> RelationEvidence:
    """Return what says whether what a question asks exists at an entity of this graph."""
    words = {number: graph.words[name] for number, name in graph.relations.items()}
    return RelationEvidence(words, Kinds(graph.catalogue), vectors)


def nearest_entities(graph: GraphResources) -> NearestEntities | None:
    """Return what looks words up in the entity index of this graph; None where there is no index that fits."""
    index = graph.entity_index
    return None if index is None else NearestEntities(index, graph.shared.vectors)
