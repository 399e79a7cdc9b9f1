"""Show how GRIL grew its subgraph, layer by layer, as text, SVG or HTML.

Kept edges are solid, pruned ones dashed and pale. The output needs no style sheet, script or font.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..evidence.evidence import Evidence, Item
from ..evidence.text import one_line
from ..recipes.recipe import Recipe
from ..recipes.retrieving import Gril
from ..retrieval.growing import GrowingRetriever
from ..steps import Steps
from ..values import Entity, LinkedQuestion, Question, Topic
from .page import markup, text_width

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


def show_layer(edges: list[GrownEdge], max_edges: int = MAX_EDGES) -> GrownLayer:
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
            relation = f"<- {edge.relation} -" if edge.inverse else f"- {edge.relation} ->"
            pruned = "" if edge.kept else "  (pruned)"
            text = f"{edge.source.label} {relation} {edge.target.label}"
            lines.append(f"  {100 * edge.attention:5.1f} %  {one_line(text, 200)}{pruned}")
        if layer.more_kept or layer.more_pruned:
            lines.append(f"  and {layer.more_kept:,} more kept, {layer.more_pruned:,} more pruned")
    return lines


def growing_part(recipe: Recipe) -> Gril | None:
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
        layers.append(show_layer(edges))
    return Growth(evidence.question, retriever.topics(linked), tuple(layers))


WIDTH, MARGIN = 960, 24
ROW = 26
LEFT, RIGHT = 250, 700
"""Right edge of the sources, left edge of the targets."""
NAME_SIZE, RELATION_SIZE = 13, 10
MAX_STROKE = 12.0
INK, DIM, RULE, KEPT, PRUNED = "#1d2429", "#5f6b74", "#d9dee2", "#1f69b0", "#c07a3a"
FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def growth_svg(growth: Growth) -> str:
    """Return the growth as SVG."""
    body: list[str] = []
    y = MARGIN + 18.0
    body.append(_text(MARGIN, y, _cut(growth.question.text, 18, WIDTH - 2 * MARGIN), size=18, bold=True))
    y += 24
    about = ", ".join(topic.entity.label for topic in growth.topics) or "no topic entity was found"
    body.append(_text(MARGIN, y, _cut(f"from {about}", 12, WIDTH - 2 * MARGIN), size=12, fill=DIM))
    y += 18
    for number, layer in enumerate(growth.layers, start=1):
        drawn, y = _layer(number, layer, y)
        body += drawn
    note = "the width of an edge is its share of its source's attention; dashed edges were pruned"
    body.append(_text(MARGIN, y + 16, note, size=11, fill=DIM))
    y += 36
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{y:.0f}" '
            f'viewBox="0 0 {WIDTH} {y:.0f}" font-family="{FONT}" fill="{INK}">',
            f"<title>{markup(f'How the subgraph grew: {growth.question.text}')}</title>",
            f'<rect width="{WIDTH}" height="{y:.0f}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        )
    )


def growth_page(growth: Growth) -> str:
    """Return the picture as a self-contained HTML page."""
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{markup(f'How the subgraph grew: {growth.question.text}')}</title>\n"
        "<style>body { margin: 1rem auto; max-width: 960px } svg { max-width: 100%; height: auto }</style>\n"
        f"{growth_svg(growth)}</html>\n"
    )


def _layer(number: int, layer: GrownLayer, top: float) -> tuple[list[str], float]:
    """Return the elements of a layer's panel, and the top of the next one."""
    body = [f'<path d="M{MARGIN} {top:.1f}H{WIDTH - MARGIN}" stroke="{RULE}"/>']
    kept = sum(edge.kept for edge in layer.edges) + layer.more_kept
    pruned = len(layer.edges) - kept + layer.more_kept + layer.more_pruned
    body.append(_text(MARGIN, top + 20, f"Layer {number}: {kept:,} kept, {pruned:,} pruned", size=13, bold=True))
    y = top + 40
    sources, targets = (_places([getattr(e, end) for e in layer.edges], y) for end in ("source", "target"))
    for edge in reversed(layer.edges):  # highest attention on top
        body += _edge(edge, sources[edge.source], targets[edge.target])
    for entity, place in sources.items():
        body.append(_text(LEFT - 8, place + 4, _cut(entity.label, NAME_SIZE, LEFT - MARGIN - 8), anchor="end"))
    for entity, place in targets.items():
        body.append(_text(RIGHT + 8, place + 4, _cut(entity.label, NAME_SIZE, WIDTH - MARGIN - RIGHT - 8)))
    y += ROW * max(len(sources), len(targets), 1)
    if layer.more_kept or layer.more_pruned:
        more = f"and {layer.more_kept:,} more kept, {layer.more_pruned:,} more pruned"
        body.append(_text(MARGIN, y, more, size=11, fill=DIM))
        y += 16
    return body, y + 4


def _edge(edge: GrownEdge, start: float, end: float) -> list[str]:
    colour, dash = (KEPT, "") if edge.kept else (PRUNED, ' stroke-dasharray="5 4"')
    width = max(MAX_STROKE * edge.attention, 0.5)
    middle = (LEFT + RIGHT) / 2
    relation = f"{'← ' if edge.inverse else ''}{edge.relation}{'' if edge.inverse else ' →'}"
    about = f"{edge.source.label} {relation} {edge.target.label}: {100 * edge.attention:.1f} %"
    path = f"M{LEFT} {start:.1f}C{middle:.0f} {start:.1f} {middle:.0f} {end:.1f} {RIGHT} {end:.1f}"
    label = _cut(relation, RELATION_SIZE, 230)
    return [
        f"<g><title>{markup(about)}</title>"
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-opacity="{0.75 if edge.kept else 0.4}" '
        f'stroke-width="{width:.2f}"{dash}/>',
        f'<text x="{RIGHT - 8}" y="{end - 3:.1f}" font-size="{RELATION_SIZE}" fill="{DIM}" text-anchor="end">'
        f"{markup(label)}</text></g>",
    ]


def _places(entities: Sequence[Entity], top: float) -> dict[Entity, float]:
    return {entity: top + ROW * (place + 0.5) for place, entity in enumerate(dict.fromkeys(entities))}


def _text(
    x: float, y: float, text: str, *, size: float = NAME_SIZE, bold: bool = False, fill: str = INK, anchor: str = ""
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    colour = f' fill="{fill}"' if fill != INK else ""
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{weight}{colour}{where}>{markup(text)}</text>'


def _cut(text: str, size: float, width: float) -> str:
    """Return the text cut to a width, on one line."""
    line = " ".join(text.split())
    while line and text_width(line, size) > width:
        line = line.removesuffix("…")[:-1] + "…"
        if line == "…":
            break
    return line
