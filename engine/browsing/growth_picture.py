"""What a subgraph that grew looks like in Neo4j Browser: edges as wide as their attention, pruned ones thin and pale.

Browser's style sheet knows no width that depends on a property, one of each relationship type alone. So what was
walked has one of a few types of our own, by its attention, and the relation is its caption.
"""

from __future__ import annotations

import hashlib

from ..database.browser_view import Picture, PictureArrow, PictureNode
from ..explaining.growth import GrownEdge, Growth
from ..values import Entity, Question
from .picture import entity_node

WIDTHS = (0.1, 0.25, 0.5, 0.75)
"""Attention from which an edge is wider: types `LODESTAR_GREW_1` to `LODESTAR_GREW_5`."""
PRUNED = "LODESTAR_PRUNED"


def growth_id(question: Question) -> str:
    """Return the id of the picture of how a question's subgraph grew, another than that of its paths."""
    key = "\n".join(("growth", question.text, *question.topic_entities))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def width_type(attention: float) -> str:
    """Return the type of an edge with this attention."""
    return f"LODESTAR_GREW_{1 + sum(attention >= least for least in WIDTHS)}"


def picture_of_growth(growth: Growth) -> Picture:
    """Return the picture: each edge once, with its highest attention, its layers, and whether it was kept in one."""
    nodes = [PictureNode("LodestarQuestion", growth.question.text)]
    index: dict[Entity, int] = {}

    def place(entity: Entity, label: str) -> int:
        if entity not in index:
            index[entity] = len(nodes)
            nodes.append(entity_node(label, entity))
        return index[entity]

    arrows = [PictureArrow(0, place(topic.entity, "LodestarTopic"), "LODESTAR_ABOUT") for topic in growth.topics]
    walked: dict[tuple[Entity, str, bool, Entity], list[tuple[int, GrownEdge]]] = {}
    for number, layer in enumerate(growth.layers, start=1):
        for edge in layer.edges:
            walked.setdefault((edge.source, edge.relation, edge.inverse, edge.target), []).append((number, edge))
    grown_from = {edge.source for some in walked.values() for _, edge in some}
    for (source, relation, inverse, target), some in walked.items():
        attention = max(edge.attention for _, edge in some)
        is_kept = any(edge.kept for _, edge in some)
        start = place(source, "LodestarInner")
        end = place(target, "LodestarInner" if target in grown_from or not is_kept else "LodestarEnd")
        shown = f"← {relation}" if inverse else relation
        properties = {
            "caption": f"{shown} {100 * attention:.0f} %",
            "relation": relation,
            "attention": attention,
            "layers": [number for number, _ in some],
            "kept": is_kept,
        }
        arrows.append(PictureArrow(start, end, width_type(attention) if is_kept else PRUNED, properties))
    for number, layer in enumerate(growth.layers, start=1):
        if more := layer.more_kept + layer.more_pruned:
            text = f"layer {number}: {more:,} more, {layer.more_pruned:,} of them pruned"
            arrows.append(PictureArrow(0, len(nodes), "LODESTAR_REST"))
            nodes.append(PictureNode("LodestarRest", text))
    return Picture(growth_id(growth.question), tuple(nodes), tuple(arrows))
