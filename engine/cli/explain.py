"""Show which words a score came from (`lodestar explain`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from .options import json_option, recipe_options
from .terminal import echo, printable

if TYPE_CHECKING:
    from ..recipes import Recipe
    from ..settings import Settings
    from ..show.explanation import Explanation

SECTION = "Ask"


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the question, each path with the per cent of its words, and the legend."""
    from .render import chain_line

    yield click.style(printable(explanation.question.text), bold=True)
    if not explanation.paths:
        yield f"  {printable(explanation.note or 'no path was found')}"
        return
    for rank, path in enumerate(explanation.paths, start=1):
        cross = "" if path.cross_score is None else f"  s {path.cross_score:.3f}"
        yield f"  {rank:>2}. {path.score:6.3f}{cross}  {printable(chain_line(path.path))}"
        for label, words in zip(explanation.labels, (path.question, path.words), strict=True):
            shown = (f"{printable(word.text)}({100 * word.weight:.0f})" for word in words)
            yield f"      {click.style(label, dim=True)} {' '.join(shown)}"
    if explanation.note:
        yield click.style(f"  {printable(explanation.note)}", dim=True)
    has_attention = explanation.labels[0] == "[QSP]"
    cross = ", s that of the cross-attentive scorer alone" if has_attention else ""
    yield click.style(f"  score: what the search ranks by{cross}", dim=True)
    if has_attention:
        yield "  [QSP]: attention over the question, [PSP]: over the path; in brackets per cent, 100 a line"
    else:
        yield "  question: what the score loses without a word, path: what the similarity loses; per cent, 100 a line"


@click.command()
@click.argument("question")
@click.option("--topic", "topics", multiple=True, help="Id of an entity the question is about; can be repeated.")
@click.option("--top-k", type=int, default=5, show_default=True, help="Paths to explain.")
@recipe_options
@json_option
def command(
    question: str, topics: tuple[str, ...], top_k: int, settings: Settings, recipe: Recipe, as_json: bool
) -> None:
    """Show what decided for an answer, or which words the scores of its best paths depend on.

    A checkpoint with the cross-attentive scorer shows its attention: [QSP] in the question, [PSP] in the path
    (STAR, section 5.4). Other scorers show what the score loses without a word. Every other recipe, and one of several
    parts, shows the answer with its ranked evidence: where each source of a union has an item, how its path is read
    (the kind of thing that the question asks for, the phrase that matched), how many items each stage left and what it
    dropped, and which features decided where the answerer is the reader.

    \b
    Examples:
      lodestar explain "Which currency is used in Peru?"
      lodestar explain "Which currency is used in Peru?" --checkpoint star
      lodestar explain "Which currency is used in Peru?" --recipe reg-path --checkpoint paths
    """
    from ..api import Engine
    from ..show.explanation import explain_answer, explanation_data, is_explainable, reasons_data
    from ..values import Question
    from .render import answer_lines

    query = Question(question, topics)
    scored = is_explainable(recipe)
    num_parts = sum(part.role != "wrapper" for part in recipe.parts.values())
    reasons = explanation = None
    with Engine(settings, recipe=recipe) as engine:
        if scored:
            explanation = engine.explain(query, top_k=top_k)
        if not scored or num_parts > 1 or recipe.answerer.name == "reader":
            reasons = explain_answer(engine, query, top_k=top_k)
    if as_json:
        data = {} if reasons is None else reasons_data(reasons)
        data |= {} if explanation is None else explanation_data(explanation)
        echo(json.dumps(data, ensure_ascii=False))
    else:
        lines: list[str] = []
        if reasons is not None:
            lines += answer_lines(reasons.answer, top_k, reasons=reasons.items)
            lines += [
                click.style(f"  {printable(line)}", dim=True)
                for line in (f"after each stage: {reasons.stages_text}", *map(str, reasons.dropped))
            ]
        lines += [] if explanation is None else explanation_lines(explanation)
        echo("\n".join(lines))
    if reasons is not None and reasons.answer.failure is not None:
        raise reasons.answer.failure
