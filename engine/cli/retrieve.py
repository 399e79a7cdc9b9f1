"""Retrieve ranked paths for questions, without an answer (`lodestar retrieve`)."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import database_options, json_option, question_options, search_options, settings_and_recipe
from .terminal import echo


@click.command()
@question_options
@search_options
@json_option
@database_options
def command(texts: tuple[str, ...], file: str | None, topics: tuple[str, ...], as_json: bool, **flags: Any) -> None:
    """Find and rank the evidence for questions: reasoning paths, or triples, depending on the recipe.

    \b
    Examples:
      lodestar retrieve "What is the capital of Peru?"
      cat questions.txt | lodestar retrieve --json --file - > paths.jsonl
    """
    from ..api import Engine
    from ..evidence.evidence import evidence_data
    from ..faults import find_fault
    from .options import questions_from
    from .render import evidence_lines
    from .terminal import printable

    questions = questions_from(texts, file, topics)
    settings, recipe = settings_and_recipe(flags)
    with Engine(settings, recipe=recipe) as engine:
        found = [engine.retrieve(questions[0])] if len(questions) == 1 else engine.retrieve_batch(questions)
    for evidence in found:
        if as_json:
            echo(json.dumps(evidence_data(evidence), ensure_ascii=False))
        else:
            echo(click.style(printable(evidence.question.text), bold=True))
            echo("\n".join(evidence_lines(evidence, recipe.top_k, len(questions))))
    if error := next((error for evidence in found if (error := find_fault(evidence))), None):
        raise error
