"""Show how GRIL grew its subgraph, hop by hop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..evidence.evidence import Evidence, Item
from ..evidence.text import one_line, shorten_iris
from ..recipes.recipe import Recipe
from ..recipes.retrieving import Gril
from ..steps import Steps
from ..values import Entity, LinkedQuestion, Question, Topic

if TYPE_CHECKING:
    from ..retrieval.growing import GrowingRetriever


MAX_EDGES = 24
"""The most edges of a layer to show, by attention; the number of others is shown."""


@dataclass(frozen=True, slots=True)
class GrownEdge:
    """A walked edge from `source` to `target`; `inverse` if against the relation's direction."""

    source: Entity
    relation: str
    target: Entity
    inverse: bool
    attention: float
    kept: bool


@dataclass(frozen=True, slots=True)
class GrownLayer:
    """The shown edges of a layer by descending attention, and the numbers of other kept and pruned edges."""

    edges: tuple[GrownEdge, ...]
    more_kept: int
    more_pruned: int


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of a question's subgraph."""

    question: Question
    topics: tuple[Topic, ...]
    layers: tuple[GrownLayer, ...]

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from .page import growth_page, wrap_for_notebook

        return wrap_for_notebook(growth_page(self))


def select_top_edges(edges: list[GrownEdge], max_edges: int = MAX_EDGES) -> GrownLayer:
    """Return a layer with the edges of highest attention; ties by name."""
    ranked = sorted(edges, key=lambda e: (-e.attention, e.source.id, e.relation, e.inverse, e.target.id))
    left_out = ranked[max_edges:]
    kept = sum(edge.kept for edge in left_out)
    return GrownLayer(tuple(ranked[:max_edges]), kept, len(left_out) - kept)


def growth_data(growth: Growth) -> dict[str, object]:
    """Return the growth as plain data for JSON."""
    return {
        "question": growth.question.text,
        "topics": [{"id": topic.entity.id, "name": topic.entity.name} for topic in growth.topics],
        "layers": [
            {
                "edges": [
                    {
                        "source": edge.source.id,
                        "source_name": edge.source.name,
                        "relation": edge.relation,
                        "inverse": edge.inverse,
                        "target": edge.target.id,
                        "target_name": edge.target.name,
                        "attention": edge.attention,
                        "kept": edge.kept,
                    }
                    for edge in layer.edges
                ],
                "more_kept": layer.more_kept,
                "more_pruned": layer.more_pruned,
            }
            for layer in growth.layers
        ],
    }


def growth_lines(growth: Growth) -> list[str]:
    """Return the growth as lines of text: the shown edges of each layer, pruned ones marked."""
    lines = []
    for number, layer in enumerate(growth.layers, start=1):
        lines.append(f"layer {number}")
        for edge in layer.edges:
            words = shorten_iris(edge.relation)
            relation = f"<- {words} -" if edge.inverse else f"- {words} ->"
            pruned = "" if edge.kept else "  (pruned)"
            text = f"{edge.source.label} {relation} {edge.target.label}"
            lines.append(f"  {100 * edge.attention:5.1f} %  {one_line(text, 200)}{pruned}")
        if layer.more_kept or layer.more_pruned:
            lines.append(f"  and {layer.more_kept:,} more kept, {layer.more_pruned:,} more pruned")
    return lines


def find_growing_part(recipe: Recipe) -> Gril | None:
    """Return the part of a recipe that grows a subgraph, None if there is none."""
    return next((part for part in recipe.parts.values() if isinstance(part, Gril)), None)


def growth_of(evidence: Evidence[Item], retriever: GrowingRetriever) -> Steps[Growth]:
    """Return the growth of the subgraph of the evidence's question; the subgraph is read again."""
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
        layers.append(select_top_edges(edges))
    return Growth(evidence.question, retriever.topics(linked), tuple(layers))
