"""From a question to how its subgraph grew (GRIL)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..evidence.evidence import Evidence, Item
from ..recipes.growing import Gril
from ..recipes.recipe import Recipe
from ..steps import Steps
from ..values import LinkedQuestion
from .growth import GrownEdge, Growth, shown

if TYPE_CHECKING:
    from ..retrieval.growing import GrowingRetriever


def growing_part(recipe: Recipe) -> Gril | None:
    """Return the part of a recipe that grows a subgraph, None where there is none."""
    return next((part for part in recipe.parts.values() if isinstance(part, Gril)), None)


def growth_of(evidence: Evidence[Item], retriever: GrowingRetriever) -> Steps[Growth]:
    """Return how the subgraph of the evidence's question grew; it is read once more."""
    linked = LinkedQuestion(evidence.question, evidence.topics)
    batch, found = yield from retriever.grow([linked])
    layers = []
    for layer in found.grown.layers:
        edges = []
        for row, inverse, attention, kept in zip(
            layer.triples.tolist(),
            layer.is_inverse.tolist(),
            layer.attention.tolist(),
            layer.is_kept.tolist(),
            strict=True,
        ):
            head, tail = (batch.table[int(batch.entities[ends[row]])] for ends in (batch.heads, batch.tails))
            source, target = (tail, head) if inverse else (head, tail)
            relation = retriever.names[int(batch.relations[row])]
            edges.append(GrownEdge(source, relation, target, inverse, attention, kept))
        layers.append(shown(edges))
    return Growth(evidence.question, retriever.topics(linked), tuple(layers))
