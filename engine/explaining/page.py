"""An explanation as one HTML page that needs nothing else: no script, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from string import Template

from .. import explaining
from .explanation import ExplainedPath, Explanation, Word, percent
from .markup import ends_named, markup


def explanation_page(explanation: Explanation) -> str:
    """Return the page's text."""
    text = resources.files(explaining).joinpath("page.html").read_text(encoding="utf-8")
    rows = [_row(rank, path, explanation) for rank, path in enumerate(explanation.paths, start=1)]
    none = f'<li><span></span><span class="by">{markup(explanation.note or "no path was found")}</span></li>'
    return Template(text).substitute(
        title=markup(f"Why these paths: {explanation.question.text}"),
        question=markup(explanation.question.text),
        rows="\n".join(rows or [none]),
        of_question=explanation.labels[0],
        of_path=explanation.labels[1],
        most_of_question=percent(explanation.most_of_question),
        most_of_path=percent(explanation.most_of_path),
    )


def _row(rank: int, path: ExplainedPath, explanation: Explanation) -> str:
    by = f"from {path.path.topic.label} by {path.path.relation_path}"
    of_question, of_path = explanation.labels
    question = _words(path.question, explanation.most_of_question)
    return (
        f'<li>\n<div class="rank"><b>{rank}</b> score {path.score:.2f}{_cross(path)}</div>\n<dl>\n'
        f'<dt>{of_question}</dt><dd class="of-question">{question}</dd>\n'
        f'<dt>{of_path}</dt><dd class="of-path">{_words(path.words, explanation.most_of_path)}</dd>\n</dl>\n'
        f'<div class="ends">→ {markup(ends_named(path.path))}</div>\n<div class="by">{markup(by)}</div>\n</li>'
    )


def _cross(path: ExplainedPath) -> str:
    return "" if path.cross_score is None else f"<br>s(q, p) {path.cross_score:.2f}"


def _words(words: Sequence[Word], most: float) -> str:
    return "".join(
        f'<span class="word" title="{100 * word.weight:.1f} %"><span style="--w:{word.weight / most:.3f}">'
        f"{markup(word.text)}</span><small>{percent(word.weight)}</small></span>"
        for word in words
    )
