"""Draw evidence from left to right: topics, the entities on the way, the ends; as data for a page, and as static SVG.

The page lays nothing out itself: it has the same columns and rows as the SVG, which notebooks show.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from ..values import Entity, Topic
from .bridges import to_chains
from .chain import Chain
from .evidence import Answer, Evidence, Item
from .text import item_text, one_line, relation_words

MAX_PATHS = 6
MAX_INSTANCES = 4
"""Entity paths of each relation path that are drawn."""
MAX_RELATIONS = 2
"""Relations that are named on one line between two entities."""

NodeKind = Literal["topic", "inner", "end", "answer", "mediator"]

INK, DIM, LINE = "#1b2430", "#5c6773", "#8a96a3"
FILLS: dict[NodeKind, tuple[str, str]] = {
    "topic": ("#dbe9ff", "#2f6fd0"),
    "inner": ("#eef1f4", "#9aa5b1"),
    "end": ("#fff1d6", "#c98a1b"),
    "answer": ("#d8f3e0", "#1f8a4c"),
    "mediator": ("#c5ccd4", "#8a96a3"),
}
"""Of each kind of node: its ground and its border."""
COLUMN, ROW, BOX, BOX_HEIGHT, MARGIN, TOP = 300, 62, 168, 34, 18, 36
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_CHARS_OF_BOX, _CHARS_OF_LINE = 23, 22


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """An entity at a place: `column` from 0 at the left, `row` from 0 at the top, in halves too. ranks: of the paths it
    is on, from 1."""

    id: str
    label: str
    kind: NodeKind
    column: int
    row: float
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """Relations between two nodes, places in `Drawing.nodes`, in walking order; inverse: they point the other way."""

    source: int
    target: int
    relations: tuple[str, ...]
    inverse: bool
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes and edges of the best paths of a question; left_out says in words what is not drawn."""

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    left_out: tuple[str, ...]

    @property
    def num_columns(self) -> int:
        """Columns from the topics to the last ends."""
        return 1 + max((node.column for node in self.nodes), default=0)

    @property
    def num_rows(self) -> float:
        """Rows of the fullest column."""
        return 1 + max((node.row for node in self.nodes), default=0.0)


def make_drawing(
    evidence: Evidence[Item],
    answers: Iterable[str] = (),
    *,
    max_paths: int = MAX_PATHS,
    max_instances: int = MAX_INSTANCES,
) -> Drawing:
    """Return the drawing of the best paths. answers: ids of the entities that answer, drawn as such."""
    chains = to_chains(evidence)
    shown = chains.items[:max_paths]
    column: dict[Entity, int] = {}
    ranks: dict[Entity, list[int]] = {}
    starts, ends = set[Entity](), set[Entity]()
    edges: dict[tuple[Entity, Entity, bool], tuple[list[str], list[int]]] = {}
    left_out = []
    for rank, scored in enumerate(shown, start=1):
        chain = scored.value
        instances = chain.instances(max_instances)
        if more := len(chain.ends) - len(instances):
            left_out.append(f"path {rank}: {more:,} more {'end' if more == 1 else 'ends'}")
        if chain.cut:
            left_out.append(f"path {rank}: a bound cut it, so that the graph may have more")
        for path in instances:
            starts.add(path.start)
            ends.add(path.end)
            for place, entity in enumerate(path.entities):
                column[entity] = min(place, column.get(entity, place))
                _add(ranks.setdefault(entity, []), rank)
            for triple, inverse, source, target in zip(
                path.triples, path.inverses, path.entities_before, path.entities_after, strict=True
            ):
                words, on = edges.setdefault((source, target, inverse), ([], []))
                _add(words, relation_words(triple.relation))
                _add(on, rank)
    if more := len(chains.items) - len(shown):
        left_out.append(f"{more:,} more {'path' if more == 1 else 'paths'}")
    order = list(column)
    rows = _rows(order, column, [(source, target) for source, target, _ in edges])
    answering = set(answers)
    nodes = tuple(
        DrawnNode(
            entity.id,
            one_line(entity.label),
            _kind(entity, starts, ends, answering),
            column[entity],
            rows[entity],
            tuple(ranks[entity]),
        )
        for entity in order
    )
    places = {entity: place for place, entity in enumerate(order)}
    drawn = tuple(
        DrawnEdge(places[source], places[target], tuple(words), inverse, tuple(on))
        for (source, target, inverse), (words, on) in edges.items()
    )
    return Drawing(nodes, drawn, (*left_out, *(one_line(each) for each in evidence.left_out)))


def drawing_data(drawing: Drawing) -> dict[str, Any]:
    """Return a drawing as plain data."""
    return {**asdict(drawing), "columns": drawing.num_columns, "rows": drawing.num_rows}


def answer_drawing(answer: Answer) -> Drawing:
    """Return the drawing of an answer's evidence, its entities drawn as the answer."""
    return make_drawing(answer.evidence, (entity.id for entity in answer.entities if entity.id))


def drawing_svg(drawing: Drawing, title: str) -> str:
    """Return the drawing as SVG that stands alone: no script, no style sheet, no font of its own."""
    width = 2 * MARGIN + BOX + COLUMN * (drawing.num_columns - 1)
    height = 2 * TOP + BOX_HEIGHT + ROW * (drawing.num_rows - 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" style="max-width:100%;height:auto" font-family="{FONT}">',
        f"<title>{_markup(title)}</title>",
        '<rect width="100%" height="100%" rx="8" fill="#ffffff"/>',
    ]
    crowded = {(edge.source, edge.target) for edge in drawing.edges if not edge.inverse}
    for edge in drawing.edges:
        lines += _edge(drawing, edge, bend=16.0 if edge.inverse and (edge.source, edge.target) in crowded else 0.0)
    for node in drawing.nodes:
        lines += _node(node)
    return "\n".join((*lines, "</svg>"))


def evidence_html(evidence: Evidence[Item], answer: Answer | None = None) -> str:
    """Return evidence, or an answer, as a notebook shows it: what was asked and found, the drawing, a line a path."""
    drawing = make_drawing(evidence) if answer is None else answer_drawing(answer)
    head = [f"<strong>{_markup(evidence.question.text)}</strong>"]
    if answer is not None:
        sure = "" if answer.confidence is None else f" <small>confidence {answer.confidence:.2f}</small>"
        head.append(f'<div style="font-size:1.2em">{_markup(answer.text)}{sure}</div>')
    if topics := _started_from(evidence):
        about = ", ".join(
            dict.fromkeys(each.entity.label + (f" ({each.kind})" if each.kind else "") for each in topics)
        )
        head.append(f"<div><small>about {_markup(one_line(about))}</small></div>")
    if evidence.note:
        head.append(f"<div>{_markup(evidence.note)}</div>")
    rows = "".join(
        f"<tr><td>{rank}</td><td>{scored.score:.3f}</td><td>{_markup(_item_line(scored.value))}</td></tr>"
        for rank, scored in enumerate(evidence.items[:MAX_PATHS], start=1)
    )
    table = f"<table><thead><tr><th>#</th><th>score</th><th>path</th></tr></thead><tbody>{rows}</tbody></table>"
    said = f"<small>not shown: {_markup('; '.join(drawing.left_out))}</small>" if drawing.left_out else ""
    svg = drawing_svg(drawing, evidence.question.text) if drawing.nodes else ""
    return f"<div>{''.join(head)}{svg}{table if rows else ''}{said}</div>"


def _started_from(evidence: Evidence[Item]) -> list[Topic]:
    """Return the topics that the chains start from; of triples the best one."""
    starts = {each.value.topic.id for each in evidence.items if isinstance(each.value, Chain)}
    return [topic for topic in evidence.topics if topic.entity.id in starts] or list(evidence.topics[:1])


def _item_line(item: Item) -> str:
    return " · ".join(item_text(item, max_names=5).splitlines())


def _rows(
    order: Sequence[Entity], column: dict[Entity, int], edges: Sequence[tuple[Entity, Entity]]
) -> dict[Entity, float]:
    """Return a row for each node: near the mean of what leads to it, in the order of ranks, none on another."""
    columns: dict[int, list[Entity]] = {}
    for entity in order:
        columns.setdefault(column[entity], []).append(entity)
    tallest = max(map(len, columns.values()), default=0)
    rows: dict[Entity, float] = {}
    for number in sorted(columns):
        before = {
            entity: [rows[source] for source, target in edges if target == entity and source in rows]
            for entity in columns[number]
        }
        some = sorted(columns[number], key=lambda entity: sum(near) / len(near) if (near := before[entity]) else 0.0)
        offset = (tallest - len(some)) / 2
        rows |= {entity: offset + place for place, entity in enumerate(some)}
    return rows


def _kind(entity: Entity, starts: set[Entity], ends: set[Entity], answers: set[str]) -> NodeKind:
    if entity.is_mediator:
        return "mediator"
    if entity.id in answers:
        return "answer"
    return "topic" if entity in starts else "end" if entity in ends else "inner"


def _node(node: DrawnNode) -> list[str]:
    x, y = _place(node)
    ground, border = FILLS[node.kind]
    if node.kind == "mediator":
        return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{ground}" stroke="{border}"><title>a record without '
                "a name</title></circle>"]  # fmt: skip
    bold = ' font-weight="600"' if node.kind in ("topic", "answer") else ""
    return [
        f'<g><title>{_markup(node.label)}</title><rect x="{x - BOX / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" '
        f'width="{BOX}" height="{BOX_HEIGHT}" rx="{BOX_HEIGHT / 2:g}" fill="{ground}" stroke="{border}"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}" font-size="13" text-anchor="middle" fill="{INK}"{bold}>'
        f"{_markup(_cut(node.label, _CHARS_OF_BOX))}</text></g>"
    ]


def _edge(drawing: Drawing, edge: DrawnEdge, bend: float) -> list[str]:
    (x1, y1), (x2, y2) = _place(drawing.nodes[edge.source]), _place(drawing.nodes[edge.target])
    forward = x2 > x1
    level = x1 == x2
    half1, half2 = (
        (8.0 if node.kind == "mediator" else BOX / 2)
        for node in (drawing.nodes[edge.source], drawing.nodes[edge.target])
    )
    x1, x2 = (x1 + half1, x2 + half2) if level else (x1 + half1, x2 - half2) if forward else (x1 - half1, x2 + half2)
    y1, y2 = y1 + bend / 2, y2 + bend / 2
    middle = x1 + 60 if level else (x1 + x2) / 2
    weight = 2.2 if 1 in edge.ranks else 1.3
    colour = "#2f6fd0" if 1 in edge.ranks else LINE
    way = -1.0 if level or not forward else 1.0
    arrow = _arrow(x1, y1, -1.0 if level else -way, colour) if edge.inverse else _arrow(x2, y2, way, colour)
    words = list(edge.relations[:MAX_RELATIONS])
    if more := len(edge.relations) - len(words):
        words[-1] += f" +{more}"
    fans_in = sum(e.target == edge.target for e in drawing.edges) > sum(e.source == edge.source for e in drawing.edges)
    near, side = ((x1, y1), 1.0) if fans_in else ((x2, y2), -1.0)
    side = side if forward else -side
    if level:
        near, side = (x1 + 36, (y1 + y2) / 2), 1.0
    x, y = near[0] + 14 * side, near[1] + (bend - 3 if bend else -5 - 12 * (len(words) - 1))
    text = "".join(
        f'<text x="{x:.1f}" y="{y + 12 * line:.1f}" font-size="10.5" text-anchor="{"start" if side > 0 else "end"}" '
        f'fill="{DIM}" stroke="#ffffff" stroke-width="3" paint-order="stroke">'
        f"{_markup(_cut(word, _CHARS_OF_LINE))}</text>"
        for line, word in enumerate(words)
    )
    return [
        f'<path d="M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}" fill="none" '
        f'stroke="{colour}" stroke-width="{weight}"/>{arrow}{text}'
    ]


def _arrow(x: float, y: float, way: float, colour: str) -> str:
    return f'<path d="M{x:.1f} {y:.1f}l{-8 * way:.1f} -4v8z" fill="{colour}"/>'


def _place(node: DrawnNode) -> tuple[float, float]:
    return MARGIN + BOX / 2 + COLUMN * node.column, TOP + BOX_HEIGHT / 2 + ROW * node.row


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _add(some: list[Any], value: Any) -> None:
    if value not in some:
        some.append(value)


def _markup(text: str) -> str:
    """Return text for XML and HTML; what could steer a reader's eye, or is not allowed there, becomes U+FFFD."""
    kept = ("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp") else c for c in text)
    return escape("".join(kept))
