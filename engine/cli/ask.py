"""`lodestar ask`: questions to answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from .options import database_options, json_option, question_options, search_options, settings_from

if TYPE_CHECKING:
    from ..settings import Settings
    from ..stages import Answerer


@click.command()
@question_options
@click.option("--llm", is_flag=True, help="Let a language model answer from the paths (see docs/llm.md).")
@click.option("--paths", "max_paths", type=click.IntRange(0), default=3, show_default=True, help="Paths to print.")
@click.option("--browse", is_flag=True, help="Open the retrieved paths in Neo4j Browser.")
@search_options
@json_option
@database_options
def command(
    texts: tuple[str, ...],
    file: str | None,
    topics: tuple[str, ...],
    llm: bool,
    max_paths: int,
    browse: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Answer questions from the graph, with the paths the answers rest on.

    \b
    Examples:
      lodestar ask "What is the capital of Peru?"
      lodestar ask --topic geo.country.PE "Which currency is used there?"
      lodestar ask --json --file questions.txt > answers.jsonl
    """
    from ..api import Engine
    from ..serialise import answer_data
    from .asking.questions import questions_from
    from .options import search_options_from
    from .render import answer_lines

    questions = questions_from(texts, file, topics)
    options = search_options_from(flags)
    settings = settings_from(**flags)
    with Engine(settings, options=options, answerer=_language_model(settings) if llm else None) as engine:
        answers = [engine.ask(questions[0])] if len(questions) == 1 else engine.ask_batch(questions)
        for answer in answers:
            if as_json:
                click.echo(json.dumps(answer_data(answer), ensure_ascii=False))
            else:
                click.echo("\n".join(answer_lines(answer, max_paths)))
        if browse:
            from .browse import open_in_browser

            open_in_browser(engine, [answer.retrieval for answer in answers])


def _language_model(settings: Settings) -> Answerer:
    from ..answering.llm import LLMAnswerer

    return LLMAnswerer.of(settings)
