"""Draw an explanation as SVG and as an HTML page.

Each path has a row: its rank and scores, the question's words shaded by `[QSP]`'s attention, the path's words shaded by
`[PSP]`'s, and its ends. The numbers under the words are per cent.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template

from ..evidence.chain import Chain
from .explanation import ExplainedPath, Explanation, Word, percent

MAX_ENDS = 4
MAX_NAME_CHARS = 60

_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS = "\u200c\u200d"
_NO_CHARACTERS = "\ufffe\uffff"


def markup(text: str) -> str:
    """Return text escaped for XML and HTML; invisible control characters and forbidden ones become U+FFFD."""
    return escape(
        "".join(
            "\ufffd" if c in _NO_CHARACTERS or (unicodedata.category(c) in _INVISIBLE and c not in _JOINERS) else c
            for c in text
        )
    )


def ends_named(chain: Chain) -> str:
    """Return the names of a chain's first ends and the number of others; not yet escaped."""
    named = [_cut_name(end.label) for end in chain.ends[:MAX_ENDS]]
    more = len(chain.ends) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _cut_name(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= MAX_NAME_CHARS else line[: MAX_NAME_CHARS - 1] + "…"


_WIDTHS = {
    char: width
    for chars, width in (
        ("ijl'|", 0.222),
        ("ft!,./:;I[]\\ ", 0.278),
        ('r()-`*"{}', 0.345),
        ("ckszvxyJ", 0.5),
        ("ABEKPSVXY&", 0.667),
        ("CDHNRUw", 0.722),
        ("GOQ", 0.778),
        ("mM", 0.833),
        ("W%@", 0.95),
    )
    for char in chars
}
_USUAL = 0.556
_UNKNOWN = 0.62
_RESERVE = 1.12
"""Verdana and DejaVu Sans, the replacements of Helvetica, are wider by this factor."""
_BOLD = 1.08


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return an upper estimate of a text's width in the unit of `size`: Helvetica's widths with a reserve."""
    return size * _RESERVE * (_BOLD if bold else 1.0) * sum(map(_width, unicodedata.normalize("NFD", text)))


def _width(char: str) -> float:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.0
    return _WIDTHS.get(char, _USUAL if char.isascii() else _UNKNOWN)


WIDTH = 960
MARGIN = 24
LABEL_X = 104
WORDS_X = 152
WORD_SIZE = 15
WORD_HEIGHT = 23
NUMBER_SIZE = 9
LINE_HEIGHT = 42
PADDING, GAP = 4, 3
MAX_WORD_WIDTH = 600

INK, DIM, RULE = "#1d2429", "#5f6b74", "#d9dee2"
QUESTION_HUE, PATH_HUE = "#5c9bd8", "#f0a050"
"""Light enough for dark text, and distinguishable for the colour-blind."""

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def svg(explanation: Explanation) -> str:
    """Return the explanation as SVG."""
    body: list[str] = []
    y = MARGIN + 16.0
    for line in _wrap_text(explanation.question.text, 18, WIDTH - 2 * MARGIN, bold=True):
        body.append(_label(MARGIN, y, line, size=18, bold=True))
        y += 24
    if not explanation.paths:
        body.append(_label(MARGIN, y + 8, explanation.note or "no path was found", fill=DIM))
        y += 28
    for rank, path in enumerate(explanation.paths, start=1):
        drawn, y = _row(rank, path, explanation, y)
        body += drawn
    drawn, y = _legend(explanation, y) if explanation.paths else ([], y)
    body += drawn
    title = markup(f"What the scorer attended to: {explanation.question.text}")
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{y:.0f}" '
            f'viewBox="0 0 {WIDTH} {y:.0f}" font-family="{FONT}" fill="{INK}">',
            f"<title>{title}</title>",
            f'<rect width="{WIDTH}" height="{y:.0f}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        )
    )


def _row(rank: int, path: ExplainedPath, explanation: Explanation, top: float) -> tuple[list[str], float]:
    """Return the elements of a path's row, and the top of the next one."""
    body = [f'<path d="M{MARGIN} {top:.1f}H{WIDTH - MARGIN}" stroke="{RULE}"/>']
    y = top + 16
    body.append(_label(MARGIN, y + 18, f"{rank}", size=20, bold=True))
    body.append(_label(MARGIN, y + 40, f"score {path.score:.2f}", size=11, fill=DIM))
    if path.cross_score is not None:
        body.append(_label(MARGIN, y + 56, f"s(q, p) {path.cross_score:.2f}", size=11, fill=DIM))
    for label, words, most, hue in (
        (explanation.labels[0], path.question, explanation.most_of_question, QUESTION_HUE),
        (explanation.labels[1], path.words, explanation.most_of_path, PATH_HUE),
    ):
        body.append(_label(LABEL_X, y + 16, label, size=11, fill=DIM))
        for line in _lines(words):
            body += _words(line, y, most, hue)
            y += LINE_HEIGHT
    for text in _wrap_text(f"→ {ends_named(path.path)}", WORD_SIZE, WIDTH - MARGIN - WORDS_X, bold=True):
        body.append(_label(WORDS_X + PADDING, y + 12, text, size=WORD_SIZE, bold=True))
        y += 20
    topic = path.path.topic.label
    for text in _wrap_text(f"from {topic} by {path.path.relation_path}", 11, WIDTH - MARGIN - WORDS_X):
        body.append(_label(WORDS_X + PADDING, y + 10, text, size=11, fill=DIM))
        y += 15
    return body, y + 14


def _words(words: Sequence[Word], y: float, most: float, hue: str) -> Iterator[str]:
    x = float(WORDS_X)
    for word in words:
        text, width = _cut(word.text), _word_width(word)
        yield (
            f"<g><title>{markup(word.text)}: {100 * word.weight:.1f} %</title>"
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{WORD_HEIGHT}" rx="3" fill="{hue}" '
            f'fill-opacity="{word.weight / most:.3f}"/>'
            f'<text x="{x + width / 2:.1f}" y="{y + 16.5:.1f}" font-size="{WORD_SIZE}" text-anchor="middle">'
            f"{markup(text)}</text>"
            f'<text x="{x + width / 2:.1f}" y="{y + WORD_HEIGHT + 9:.1f}" font-size="{NUMBER_SIZE}" fill="{DIM}" '
            f'text-anchor="middle">{percent(word.weight)}</text></g>'
        )
        x += width + GAP


def _lines(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield the words in lines that fit the picture."""
    line: list[Word] = []
    x = float(WORDS_X)
    for word in words:
        width = _word_width(word)
        if line and x + width > WIDTH - MARGIN:
            yield line
            line, x = [], float(WORDS_X)
        line.append(word)
        x += width + GAP
    if line:
        yield line


def _word_width(word: Word) -> float:
    return max(text_width(_cut(word.text), WORD_SIZE), 12.0) + 2 * PADDING


def _cut(text: str) -> str:
    first, *more = _wrap_text(text, WORD_SIZE, MAX_WORD_WIDTH) or [text]
    return first + "…" if more else text


def _legend(explanation: Explanation, top: float) -> tuple[list[str], float]:
    body = [f'<path d="M{MARGIN} {top:.1f}H{WIDTH - MARGIN}" stroke="{RULE}"/>']
    x = float(MARGIN)
    for text, most, hue in (
        (f"{explanation.labels[0]}, over the question", explanation.most_of_question, QUESTION_HUE),
        (f"{explanation.labels[1]}, over the path", explanation.most_of_path, PATH_HUE),
    ):
        body.append(_label(x, top + 24, text, size=11, fill=DIM))
        x += text_width(text, 11) + 12
        body.append(_label(x, top + 24, "0", size=11, fill=DIM))
        body += (
            f'<rect x="{x + 10 + 9 * step:.1f}" y="{top + 13:.1f}" width="9" height="14" fill="{hue}" '
            f'fill-opacity="{(step + 1) / 10:.1f}"/>'
            for step in range(10)
        )
        body.append(_label(x + 106, top + 24, f"{percent(most)} %", size=11, fill=DIM))
        x += 164
    body.append(_label(x, top + 24, "numbers are per cent of a row", size=11, fill=DIM))
    return body, top + 44


def _label(x: float, y: float, text: str, *, size: float = 13, bold: bool = False, fill: str = INK) -> str:
    weight = ' font-weight="bold"' if bold else ""
    colour = f' fill="{fill}"' if fill != INK else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{weight}{colour}>{markup(text)}</text>'


def _wrap_text(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """Return a text in lines of at most `width`; a wider word is split."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size, bold=bold) <= width:
            lines[-1] = longer
            continue
        parts = [""]
        for char in word:
            if text_width(parts[-1] + char, size, bold=bold) > width:
                parts.append("")
            parts[-1] += char
        lines += parts
    return [line for line in lines if line]


def explanation_page(explanation: Explanation) -> str:
    """Return the explanation as an HTML page."""
    text = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    rows = [_table_row(rank, path, explanation) for rank, path in enumerate(explanation.paths, start=1)]
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


def _table_row(rank: int, path: ExplainedPath, explanation: Explanation) -> str:
    by = f"from {path.path.topic.label} by {path.path.relation_path}"
    of_question, of_path = explanation.labels
    question = _word_spans(path.question, explanation.most_of_question)
    return (
        f'<li>\n<div class="rank"><b>{rank}</b> score {path.score:.2f}{_cross(path)}</div>\n<dl>\n'
        f'<dt>{of_question}</dt><dd class="of-question">{question}</dd>\n'
        f'<dt>{of_path}</dt><dd class="of-path">{_word_spans(path.words, explanation.most_of_path)}</dd>\n</dl>\n'
        f'<div class="ends">→ {markup(ends_named(path.path))}</div>\n<div class="by">{markup(by)}</div>\n</li>'
    )


def _cross(path: ExplainedPath) -> str:
    return "" if path.cross_score is None else f"<br>s(q, p) {path.cross_score:.2f}"


def _word_spans(words: Sequence[Word], most: float) -> str:
    return "".join(
        f'<span class="word" title="{100 * word.weight:.1f} %"><span style="--w:{word.weight / most:.3f}">'
        f"{markup(word.text)}</span><small>{percent(word.weight)}</small></span>"
        for word in words
    )
