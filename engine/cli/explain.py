"""Show what decided for an answer (`lodestar explain`)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import click

from ..progress import make_printable
from . import asks_for_json, show
from .options import TOPICS, json_option, recipe_options

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..settings import Settings


@click.command()
@click.argument("question")
@TOPICS
@click.option("--top-k", type=click.IntRange(1), default=5, show_default=True, help="Paths to explain.")
@recipe_options
@json_option
def command(question: str, topics: tuple[str, ...], top_k: int, settings: Settings, recipe: Recipe) -> None:
    """Show an answer with what decided for it.

    Of each path you see how it is read (the kind of thing that the question asks for, the phrase that matched), where
    each source of a union has it, and in per cent what a cross-attentive scorer attends to: [QSP] in the question and
    [PSP] in the path (STAR, section 5.4). At the end, how many items each stage left.

    \b
    Examples:
      lodestar explain "Which currency is used in Peru?" --checkpoint star
    """
    from ..api import Engine, find_question_error
    from ..values import Question
    from .render import answer_lines

    with Engine(settings, recipe=recipe) as engine:
        explanation = engine.explain(Question(question, topics), top_k=top_k)
    failed = explanation.answer.failure or find_question_error(explanation.answer.evidence)
    if asks_for_json() or failed is None or explanation.answer.evidence.topics:
        lines = answer_lines(explanation.answer, top_k, reasons=explanation.items)
        more = (click.style(f"  {make_printable(line)}", dim=True) for line in explanation.lines())
        show(explanation.to_dict(), chain(lines, more), styled=True)
    if failed is not None:
        raise failed
