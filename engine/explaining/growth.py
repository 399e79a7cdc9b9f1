"""How a subgraph grew and was pruned, layer by layer (GRIL, figure 5), as values a picture is drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from ..evidence.text import one_line
from ..values import Entity, Question, Topic

MAX_EDGES = 24
"""Of a layer that are shown: the most attended to; how many more there were is said."""


@dataclass(frozen=True, slots=True)
class GrownEdge:
    """An edge as it was walked: from `source` to `target`, along the relation or against it."""

    source: Entity
    relation: str
    target: Entity
    inverse: bool
    attention: float
    kept: bool


@dataclass(frozen=True, slots=True)
class GrownLayer:
    """The edges of a layer, the most attended to first, and how many were kept and pruned that are not among them."""

    edges: tuple[GrownEdge, ...]
    more_kept: int
    more_pruned: int


@dataclass(frozen=True, slots=True)
class Growth:
    """How the subgraph of a question grew."""

    question: Question
    topics: tuple[Topic, ...]
    layers: tuple[GrownLayer, ...]

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from .page import growth_page, in_notebook

        return in_notebook(growth_page(self))


def shown(edges: list[GrownEdge], max_edges: int = MAX_EDGES) -> GrownLayer:
    """Return a layer of these edges, the most attended to first; of equal ones by name."""
    ranked = sorted(edges, key=lambda e: (-e.attention, e.source.id, e.relation, e.inverse, e.target.id))
    left_out = ranked[max_edges:]
    kept = sum(edge.kept for edge in left_out)
    return GrownLayer(tuple(ranked[:max_edges]), kept, len(left_out) - kept)


def growth_data(growth: Growth) -> dict[str, object]:
    """Return it as plain data for JSON."""
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
    """Return it as lines of text: of each layer the edges that are shown, pruned ones marked."""
    lines = []
    for number, layer in enumerate(growth.layers, start=1):
        lines.append(f"layer {number}")
        for edge in layer.edges:
            relation = f"<- {edge.relation} -" if edge.inverse else f"- {edge.relation} ->"
            pruned = "" if edge.kept else "  (pruned)"
            text = f"{edge.source.label} {relation} {edge.target.label}"
            lines.append(f"  {100 * edge.attention:5.1f} %  {one_line(text, 200)}{pruned}")
        if layer.more_kept or layer.more_pruned:
            lines.append(f"  and {layer.more_kept:,} more that were kept, {layer.more_pruned:,} more that were pruned")
    return lines
