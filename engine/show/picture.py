"""Choose the nodes and relationships of a picture for Neo4j Browser.

Browser's style sheet supports one width per relationship type, none by property. So walked edges have a few types of
our own, by attention, and the relation as caption.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..evidence.bridges import to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..neo4j.templates import Request, template
from ..values import Entity, Path, Question, Scored, Triple
from .growth import GrownEdge, Growth


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A node to draw: `label` decides its style, `name` is its text.

    `id` is the id of its entity, `literal` that of its literal, if any. A node has one label: with a second one common
    to all, Browser would give all the same colour.
    """

    label: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    literal: str | None = None

    @property
    def all_properties(self) -> dict[str, Any]:
        """The properties to write, without absent values."""
        own = {"name": self.name, "id": self.id, "literal": self.literal}
        return {**self.properties, **{key: value for key, value in own.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class PictureArrow:
    """An arrow to draw between two nodes, given by their indices in the picture."""

    start: int
    end: int
    type: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Picture:
    """The picture of one question. `question_picture_id` consists of hexadecimal digits."""

    question_id: str
    nodes: tuple[PictureNode, ...]
    arrows: tuple[PictureArrow, ...]


class ClearReport(NamedTuple):
    """Counts of removed items."""

    num_questions: int
    num_nodes: int
    num_relationships: int


def write_picture(picture: Picture) -> Request[int]:
    """Write a picture, replacing an earlier one of the same question; returns the number of nodes."""
    params = {
        "question": picture.question_id,
        "nodes": [{"label": n.label, "properties": n.all_properties} for n in picture.nodes],
        "arrows": [
            {"start": a.start, "end": a.end, "type": a.type, "properties": dict(a.properties)} for a in picture.arrows
        ],
    }
    return Request(template("write_browser_picture"), params, lambda rows: int(rows[0][0]))


def clear_pictures(limit: int) -> Request[ClearReport]:
    """Delete at most `limit` nodes of pictures, with their relationships."""
    return Request(template("clear_browser_pictures"), {"limit": limit}, lambda rows: ClearReport(*rows[0]))


def read_browser_command() -> Request[str]:
    """Read the commands that Browser runs after each connection to this server, "" if there are none."""
    return Request(template("read_browser_command"), {}, lambda rows: str(rows[0][0] or "") if rows else "")


def picture_query(question_id: str) -> str:
    """Return the query that shows a picture, on one line, so that Enter runs it in Browser's editor."""
    int(question_id, 16)  # becomes part of the query: hexadecimal digits only
    text = template("show_browser_picture").render({})
    return " ".join(text.replace("$question", f"'{question_id}'").split())


MAX_PATHS = 3
MAX_INSTANCES = 5


def question_picture_id(question: Question) -> str:
    """Return the id of a question's picture, from its text and topic entities."""
    key = "\n".join((question.text, *question.topic_entities))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def picture_of(evidence: Evidence[Item], max_paths: int = MAX_PATHS, max_instances: int = MAX_INSTANCES) -> Picture:
    """Return the picture of the best `max_paths` paths, each with at most `max_instances` of its entity paths.

    An entity is one node, even on several paths; a separate node tells how much is left out.
    """
    chains = to_chains(evidence)
    drawing = _Drawing(chains.question)
    shown = [(path, path.value.instances(max_instances)) for path in chains.items[:max_paths]]
    instances = [instance for _, some in shown for instance in some]
    drawing.add_entities(chains, instances)
    for rank, (path, some) in enumerate(shown, start=1):
        drawing.add_path(rank, path, some)
    drawing.add_triples(shown)
    if left_out := len(chains.items) - len(shown):
        drawing.add_rest(0, f"and {left_out:,} more {'path' if left_out == 1 else 'paths'}")
    return Picture(question_picture_id(chains.question), tuple(drawing.nodes), tuple(drawing.arrows))


class _Drawing:
    """Builder of a picture; the question is node 0."""

    def __init__(self, question: Question) -> None:
        self.nodes = [PictureNode("LodestarQuestion", question.text)]
        self.arrows: list[PictureArrow] = []
        self._index: dict[Entity, int] = {}

    def add_entities(self, evidence: Evidence[Chain], instances: list[Path]) -> None:
        """Add the entities, and an arrow from the question to each topic entity."""
        topics = {instance.start for instance in instances}
        ends = {instance.end for instance in instances}
        for entity in dict.fromkeys(entity for instance in instances for entity in instance.entities):
            label = "LodestarTopic" if entity in topics else "LodestarEnd" if entity in ends else "LodestarInner"
            self._index[entity] = self._add(entity_node(label, entity))
        scores = {topic.entity: topic.score for topic in evidence.topics}
        for entity, index in self._index.items():
            if entity in topics:
                properties = {"score": scores[entity]} if entity in scores else {}
                self.arrows.append(PictureArrow(0, index, "LODESTAR_ABOUT", properties))

    def add_path(self, rank: int, path: Scored[Chain], instances: tuple[Path, ...]) -> None:
        """Add a path with its rank and score, between the question and the ends of its entity paths."""
        ranked = {"rank": rank, "score": path.score}
        node = PictureNode(
            "LodestarPath",
            f"{rank} · {path.score:.3f}",
            ranked | {"relation_path": str(path.value.relation_path)},
        )
        index = self._add(node)
        self.arrows.append(PictureArrow(0, index, "LODESTAR_PATH", ranked))
        for end in dict.fromkeys(instance.end for instance in instances):
            self.arrows.append(PictureArrow(index, self._index[end], "LODESTAR_LEADS_TO"))
        left_out = len(path.value.ends) - len(instances)
        if left_out or path.value.cut:
            number = f"{left_out:,}{'+' if path.value.cut else ''} " if left_out else ""
            self.add_rest(index, f"and {number}more")

    def add_triples(self, shown: list[tuple[Scored[Chain], tuple[Path, ...]]]) -> None:
        """Add each triple once, with the ranks of its paths."""
        ranks: dict[Triple, list[int]] = {}
        for rank, (_, instances) in enumerate(shown, start=1):
            for triple in dict.fromkeys(triple for instance in instances for triple in instance.triples):
                ranks.setdefault(triple, []).append(rank)
        for triple, paths in ranks.items():
            head, tail = self._index[triple.head], self._index[triple.tail]
            self.arrows.append(PictureArrow(head, tail, triple.relation, {"paths": paths}))

    def add_rest(self, of: int, words: str) -> None:
        """Add a node that tells what is not drawn."""
        self.arrows.append(PictureArrow(of, self._add(PictureNode("LodestarRest", words)), "LODESTAR_REST"))

    def _add(self, node: PictureNode) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


def entity_node(label: str, entity: Entity) -> PictureNode:
    """Return the node of an entity or a literal."""
    if entity.is_literal:
        return PictureNode(label, entity.label, literal=entity.id)
    return PictureNode(label, entity.label, id=entity.id)


WIDTHS = (0.1, 0.25, 0.5, 0.75)
"""Attention thresholds of the widths: types `LODESTAR_GREW_1` to `LODESTAR_GREW_5`."""
PRUNED = "LODESTAR_PRUNED"


def growth_picture_id(question: Question) -> str:
    """Return the id of the picture of a subgraph's growth, which differs from that of the paths."""
    key = "\n".join(("growth", question.text, *question.topic_entities))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def attention_relationship_type(attention: float) -> str:
    """Return the relationship type of an edge with this attention."""
    return f"LODESTAR_GREW_{1 + sum(attention >= least for least in WIDTHS)}"


def picture_of_growth(growth: Growth) -> Picture:
    """Return the picture: each edge once, with its highest attention, its layers, and whether any layer kept it."""
    nodes = [PictureNode("LodestarQuestion", growth.question.text)]
    index: dict[Entity, int] = {}

    def place(entity: Entity, label: str) -> int:
        if entity not in index:
            index[entity] = len(nodes)
            nodes.append(entity_node(label, entity))
        return index[entity]

    arrows = [PictureArrow(0, place(topic.entity, "LodestarTopic"), "LODESTAR_ABOUT") for topic in growth.topics]
    grown: dict[tuple[Entity, str, bool, Entity], list[tuple[int, GrownEdge]]] = {}
    for number, layer in enumerate(growth.layers, start=1):
        for edge in layer.edges:
            grown.setdefault((edge.source, edge.relation, edge.inverse, edge.target), []).append((number, edge))
    grown_from = {edge.source for edges in grown.values() for _, edge in edges}
    for (source, relation, inverse, target), edges in grown.items():
        attention = max(edge.attention for _, edge in edges)
        is_kept = any(edge.kept for _, edge in edges)
        start = place(source, "LodestarInner")
        end = place(target, "LodestarInner" if target in grown_from or not is_kept else "LodestarEnd")
        shown = f"← {relation}" if inverse else relation
        properties = {
            "caption": f"{shown} {100 * attention:.0f} %",
            "relation": relation,
            "attention": attention,
            "layers": [number for number, _ in edges],
            "kept": is_kept,
        }
        arrows.append(
            PictureArrow(start, end, attention_relationship_type(attention) if is_kept else PRUNED, properties)
        )
    for number, layer in enumerate(growth.layers, start=1):
        if more := layer.more_kept + layer.more_pruned:
            text = f"layer {number}: {more:,} more, {layer.more_pruned:,} of them pruned"
            arrows.append(PictureArrow(0, len(nodes), "LODESTAR_REST"))
            nodes.append(PictureNode("LodestarRest", text))
    return Picture(growth_picture_id(growth.question), tuple(nodes), tuple(arrows))
