"""What a scorer attended to, as a reader in a terminal sees it: shades where there are colours, else numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from ...explaining.explanation import Explanation, Word, percent
from ..render import chain_line
from ..terminal import printable

QUESTION_SHADES = (None, 195, 153, 117, 75, 33)
PATH_SHADES = (None, 230, 223, 216, 215, 208)
"""Backgrounds by weight, the lightest first, of the 256 colours of a terminal; black is read on each."""

BLACK = 16


def explanation_lines(explanation: Explanation, *, colour: bool) -> Iterator[str]:
    """Yield the question, each path with its words weighted, and what the shades or numbers mean."""
    yield click.style(printable(explanation.question.text), bold=True)
    if not explanation.paths:
        yield f"  {printable(explanation.note or 'no path was found')}"
        return
    for rank, path in enumerate(explanation.paths, start=1):
        line = chain_line(path.path)
        cross = "" if path.cross_score is None else f"  s {path.cross_score:.3f}"
        yield f"  {rank:>2}. {path.score:6.3f}{cross}  {printable(line)}"
        for label, words, most, shades in (
            (explanation.labels[0], path.question, explanation.most_of_question, QUESTION_SHADES),
            (explanation.labels[1], path.words, explanation.most_of_path, PATH_SHADES),
        ):
            shown = (_shaded(word, most, shades) if colour else _numbered(word) for word in words)
            yield f"      {click.style(label, dim=True)} {' '.join(shown)}"
    yield from _legend(explanation, colour=colour)


def _shaded(word: Word, most: float, shades: Sequence[int | None]) -> str:
    shade = shades[_step(word.weight / most, len(shades))]
    text = printable(word.text)
    return text if shade is None else click.style(f" {text} ", fg=BLACK, bg=shade)


def _numbered(word: Word) -> str:
    return f"{printable(word.text)}({percent(word.weight)})"


def _step(share: float, num_steps: int) -> int:
    return min(int(share * num_steps), num_steps - 1)


def _legend(explanation: Explanation, *, colour: bool) -> Iterator[str]:
    if explanation.note:
        yield click.style(f"  {printable(explanation.note)}", dim=True)
    has_attention = explanation.labels[0] == "[QSP]"
    cross = ", s that of the cross-attentive scorer alone" if has_attention else ""
    yield click.style(f"  score is what the search ranks by{cross}", dim=True)
    if not colour and has_attention:
        yield "  [QSP]: attention over the question, [PSP]: over the path; in brackets per cent, of 100 a line"
    elif not colour:
        yield "  question: what the score loses without a word, path: what its likeness loses; per cent, of 100 a line"
    if not colour:
        return
    for label, what, most, shades in (
        (explanation.labels[0], "the question", explanation.most_of_question, QUESTION_SHADES),
        (explanation.labels[1], "the path", explanation.most_of_path, PATH_SHADES),
    ):
        steps = "".join(
            click.style(f" {percent(most * step / len(shades))} ", fg=BLACK, bg=shade)
            for step, shade in enumerate(shades)
            if shade is not None
        )
        yield f"  {label} over {what}, shades begin at per cent {steps}"
