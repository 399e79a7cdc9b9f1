"""`lodestar retrieve`: questions to ranked paths, without an answer."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import database_options, json_option, question_options, search_options, settings_from


@click.command()
@question_options
@search_options
@json_option
@database_options
def command(texts: tuple[str, ...], file: str | None, topics: tuple[str, ...], as_json: bool, **flags: Any) -> None:
    """Find and rank the reasoning paths for questions.

    \b
    Examples:
      lodestar retrieve "What is the capital of Peru?"
      cat questions.txt | lodestar retrieve --json --file - > paths.jsonl
    """
    from ..api import Engine
    from ..serialise import retrieval_data
    from .asking.questions import questions_from
    from .options import search_options_from
    from .render import printable, retrieval_lines

    questions = questions_from(texts, file, topics)
    options = search_options_from(flags)
    with Engine(settings_from(**flags), options=options) as engine:
        found = [engine.retrieve(questions[0])] if len(questions) == 1 else engine.retrieve_batch(questions)
    for retrieval in found:
        if as_json:
            click.echo(json.dumps(retrieval_data(retrieval), ensure_ascii=False))
        else:
            click.echo(click.style(printable(retrieval.question.text), bold=True))
            click.echo("\n".join(retrieval_lines(retrieval, options.top_k)))
