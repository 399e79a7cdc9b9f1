"""Define the parts that link questions to entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...models.ranges import Range
from ..indexes.entity_index import EntityTypes, NearestEntitySearch
from ..linking.full_text import FullTextLinker, ValueLinker
from ..linking.reranking import RelationFeatureExtractor
from ..relations.words import words_of_relation
from ..resources import GraphResources
from ..stages import Linker
from .part import LinkerPart, option


@dataclass(frozen=True)
class FullText(LinkerPart):
    """Links by names and aliases in the full-text index, and by the relations of the candidates."""

    name: ClassVar[str] = "full-text"

    top_k: Annotated[int, Range(1, 100)] = option(10, "candidates kept")
    values: bool = option(True, "allow a date, a number or a quoted text as a literal topic")

    def linker(self, graph: GraphResources) -> Linker:
        linker = FullTextLinker(
            top_k=self.top_k,
            type_words=graph.type_words,
            evidence=relation_evidence(graph),
            nearest=open_entity_search(graph),
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
