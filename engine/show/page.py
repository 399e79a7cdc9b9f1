"""Draw an explanation as SVG and as an HTML page.

The browser lays it out; only the curves of a grown subgraph have coordinates, 26 pixels a row.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from ..evidence.chain import Chain
from ..evidence.text import item_text, shorten_iris
from ..values import Entity
from .explanation import ExplainedPath, Explanation, WeightedWord, percent
from .growth import GrownEdge, GrownLayer, Growth
from .reasons import AnswerReasons

MAX_ENDS = 4
MAX_NAME_CHARS = 60

_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"
_NO_CHARACTERS = "\ufffe\uffff"


def escape_markup(text: str) -> str:
    """Return text escaped for XML and HTML; invisible control characters and forbidden ones become U+FFFD."""
    return escape(
        "".join(
            "\ufffd" if c in _NO_CHARACTERS or (unicodedata.category(c) in _INVISIBLE and c not in _JOINERS) else c
            for c in text
        )
    )


def name_ends(chain: Chain) -> str:
    """Return the names of a chain's first ends and the number of others; not yet escaped."""
    named = [_cut_name(end.label) for end in chain.ends[:MAX_ENDS]]
    more = len(chain.ends) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _cut_name(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= MAX_NAME_CHARS else line[: MAX_NAME_CHARS - 1] + "…"


ROW, WIDTH = 26, 450
MAX_STROKE = 12.0
MAX_RELATION_CHARS = 40


def explanation_page(explanation: Explanation) -> str:
    """Return the page of an explanation."""
    rows = [_table_row(rank, path, explanation) for rank, path in enumerate(explanation.paths, start=1)]
    none = f'<li><span></span><span class="by">{escape_markup(explanation.note or "no path was found")}</span></li>'
    of_question, of_path = explanation.labels
    footer = (
        f'<span>{of_question}, over the question: 0 <i class="of-question"></i> '
        f"{percent(explanation.most_of_question)} %</span>\n"
        f'<span>{of_path}, over the path: 0 <i class="of-path"></i> {percent(explanation.most_of_path)} %</span>\n'
        "<span>numbers are per cent of a row's attention</span>"
    )
    body = "\n".join(("<ol>", *(rows or [none]), "</ol>"))
    return _page("Why these paths", explanation.question.text, body, footer)


def growth_page(growth: Growth) -> str:
    """Return the page of how a subgraph grew: an edge as wide as its attention, pruned ones dashed."""
    about = ", ".join(topic.entity.label for topic in growth.topics) or "no topic entity was found"
    layers = (_layer(number, layer) for number, layer in enumerate(growth.layers, start=1))
    footer = "<span>an edge is as wide as its share of its source's attention; dashed ones were pruned</span>"
    body = "\n".join((f'<p class="by">from {escape_markup(about)}</p>', *layers))
    return _page("How the subgraph grew", growth.question.text, body, footer)


def reasons_page(reasons: AnswerReasons) -> str:
    """Return the page of an answer of any recipe: its ranked evidence, and what decided."""
    answer = reasons.answer
    rows = [
        f'<li>\n<div class="rank"><b>{rank}</b> score {scored.score:.2f}</div>\n'
        f'<div class="ends">{escape_markup(item_text(scored.value, max_names=MAX_ENDS))}</div>\n'
        + "".join(f'<div class="by">{escape_markup(line)}</div>\n' for line in item.lines())
        + "</li>"
        for rank, (scored, item) in enumerate(zip(answer.evidence.items, reasons.items, strict=False), start=1)
    ]
    why = f'<p class="by">because: {escape_markup("; ".join(answer.why))}</p>' if answer.why else ""
    dropped = (f'<p class="by">{escape_markup(str(each))}</p>' for each in reasons.dropped)
    body = "\n".join((f"<h2>{escape_markup(answer.text)}</h2>", why, "<ol>", *rows, "</ol>", *dropped))
    return _page(
        "Why this answer", answer.evidence.question.text, body, f"<span>{escape_markup(reasons.stages_text)}</span>"
    )


def wrap_for_notebook(page: str) -> str:
    """Return a page as notebooks show it, apart from their own styles."""
    return f'<iframe srcdoc="{escape(page)}" style="border: 0; width: 100%; height: 30rem"></iframe>'


def _page(title: str, question: str, body: str, footer: str) -> str:
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return Template(text).substitute(
        title=escape_markup(f"{title}: {question}"), question=escape_markup(question), body=body, footer=footer
    )


def _table_row(rank: int, path: ExplainedPath, explanation: Explanation) -> str:
    by = f"from {path.path.topic.label} by {shorten_iris(path.path.relation_path)}"
    of_question, of_path = explanation.labels
    question = _word_spans(path.question, explanation.most_of_question)
    return (
        f'<li>\n<div class="rank"><b>{rank}</b> score {path.score:.2f}{_cross(path)}</div>\n<dl>\n'
        f'<dt>{of_question}</dt><dd class="of-question">{question}</dd>\n'
        f'<dt>{of_path}</dt><dd class="of-path">{_word_spans(path.words, explanation.most_of_path)}</dd>\n</dl>\n'
        f'<div class="ends">→ {escape_markup(name_ends(path.path))}</div>\n'
        f'<div class="by">{escape_markup(by)}</div>\n</li>'
    )


def _cross(path: ExplainedPath) -> str:
    return "" if path.cross_score is None else f"<br>s(q, p) {path.cross_score:.2f}"


def _word_spans(words: Sequence[WeightedWord], most: float) -> str:
    return "".join(
        f'<span class="word" title="{100 * word.weight:.1f} %"><span style="--w:{word.weight / most:.3f}">'
        f"{escape_markup(word.text)}</span><small>{percent(word.weight)}</small></span>"
        for word in words
    )


def _layer(number: int, layer: GrownLayer) -> str:
    kept = sum(edge.kept for edge in layer.edges) + layer.more_kept
    pruned = len(layer.edges) - kept + layer.more_kept + layer.more_pruned
    sources = list(dict.fromkeys(edge.source for edge in layer.edges))
    targets = list(dict.fromkeys(edge.target for edge in layer.edges))
    edges = (_edge(edge, sources.index(edge.source), targets.index(edge.target)) for edge in reversed(layer.edges))
    height = ROW * max(len(sources), len(targets), 1)
    more = f"and {layer.more_kept:,} more that were kept, {layer.more_pruned:,} more that were pruned"
    return "\n".join(
        (
            f"<h2>Layer {number}: {kept:,} kept, {pruned:,} pruned</h2>",
            f'<div class="grown"><div>{_names(sources)}</div>',
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" height="{height}" '
            'preserveAspectRatio="none">',
            *edges,  # the most attended to on top
            f"</svg><div>{_names(targets)}</div></div>",
            *([f'<p class="by">{more}</p>'] if layer.more_kept or layer.more_pruned else []),
        )
    )


def _names(entities: Sequence[Entity]) -> str:
    return "".join(f'<p title="{escape_markup(entity.label)}">{escape_markup(entity.label)}</p>' for entity in entities)


def _edge(edge: GrownEdge, source: int, target: int) -> str:
    start, end, middle = ROW * (source + 0.5), ROW * (target + 0.5), WIDTH // 2
    words = shorten_iris(edge.relation)
    relation = f"← {words}" if edge.inverse else f"{words} →"
    about = f"{edge.source.label} {relation} {edge.target.label}: {100 * edge.attention:.1f} %"
    cut = relation if len(relation) <= MAX_RELATION_CHARS else relation[: MAX_RELATION_CHARS - 1] + "…"
    return (
        f"<g><title>{escape_markup(about)}</title>"
        f'<path class="{"kept" if edge.kept else "pruned"}" stroke-width="{max(MAX_STROKE * edge.attention, 0.5):.2f}" '
        f'd="M8 {start:g}C{middle} {start:g} {middle} {end:g} {WIDTH - 8} {end:g}"/>'
        f'<text x="{WIDTH - 12}" y="{end - 3:g}" text-anchor="end">{escape_markup(cut)}</text></g>'
    )
