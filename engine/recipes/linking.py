"""Define the parts that link questions to entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...models.ranges import Range, Share
from ..indexes.entity_index import EntityTypes, NearestEntitySearch
from ..linking.full_text import FullTextLinker, ValueLinker
from ..linking.reranking import RelationFeatureExtractor
from ..relations.words import words_of_relation
from ..resources import GraphResources
from ..stages import Linker
from .part import LinkerPart, option

Entities = Annotated[int, Range(1, 1_000)]


@dataclass(frozen=True)
class NameSearchPart(LinkerPart):
    """Options of linkers that search names in the full-text index."""

    pool: Entities = option(100, "entities read for a question")
    per_word: Entities = option(10, "more entities read for each of its words")
    top_k: Annotated[int, Range(1, 100)] = option(10, "candidates kept")
    min_similarity: Share = option(0.8, "least similarity of a name and its mention, 1 is equal")
    values: bool = option(True, "allow a date, a number or a quoted text as a literal topic")


@dataclass(frozen=True)
class FullText(NameSearchPart):
    """Links by names and aliases in the full-text index, and by the relations of the candidates."""

    name: ClassVar[str] = "full-text"

    nearest: bool = option(True, "use the entity index, if there is one (lodestar index entities)")
    relations: bool = option(True, "also score candidates by their relations")

    def linker(self, graph: GraphResources) -> Linker:
        """Return the linker."""
        linker = FullTextLinker(
            self.pool,
            self.per_word,
            self.top_k,
            self.min_similarity,
            graph.type_words,
            relation_evidence(graph) if self.relations else None,
            nearest=open_entity_search(graph) if self.nearest else None,
        )
        return ValueLinker(linker) if self.values else linker


def relation_evidence(graph: GraphResources) -> RelationFeatureExtractor:
    """Return the evidence on whether the property that a question asks for exists at an entity of this graph.

    Relations are also read in what was said of them, but not in the lexicon's phrases, with which the weights of the
    evidence were not fitted.
    """
    relations = graph.catalogue.relations
    words = {r.number: words_of_relation(r, lambda p: p.origin != "lexicon") for r in relations}
    return RelationFeatureExtractor(words, EntityTypes(graph.catalogue), graph.shared.vectors)


def open_entity_search(graph: GraphResources) -> NearestEntitySearch | None:
    """Return the search in the entity index of this graph; None if there is no usable index."""
    index = graph.entity_index
    return None if index is None else NearestEntitySearch(index, graph.shared.vectors)
