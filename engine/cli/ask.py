"""Answer questions from the graph (`lodestar ask`)."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import database_options, json_option, question_options, search_options, settings_and_recipe
from .terminal import echo, printable


@click.command()
@question_options
@click.option("--llm", is_flag=True, help="Let a language model answer from the evidence (see docs/llm.md).")
@click.option(
    "--forms/--no-forms",
    default=None,
    help="Handle forms (how many, yes/no, most, more than, both, or, not) always, or never. Default: where that is "
    "sure (docs/forms.md).",
)
@click.option("--paths", "max_paths", type=click.IntRange(0), default=3, show_default=True, help="Items to print.")
@click.option("--browse", is_flag=True, help="Open the retrieved paths in Neo4j Browser.")
@search_options
@json_option
@database_options
def command(
    texts: tuple[str, ...],
    file: str | None,
    topics: tuple[str, ...],
    llm: bool,
    forms: bool | None,
    max_paths: int,
    browse: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Answer questions from the graph, and show the evidence for the answers.

    \b
    Examples:
      lodestar ask "What is the capital of Peru?"
      lodestar ask --topic geo.country.PE "Which currency is used there?"
      lodestar ask --forms "How many countries border both Brazil and Argentina?"
      lodestar ask --json --file questions.txt > answers.jsonl
      lodestar ask --recipe "star + merge" --set star.checkpoint=FOLDER "Where was Ann born?"
    """
    from ..api import Engine
    from ..evidence.plain import answer_data
    from ..faults import fault_of
    from .options import questions_from
    from .render import answer_lines

    questions = questions_from(texts, file, topics)
    settings, recipe = settings_and_recipe(flags, llm=llm, forms=forms)
    with Engine(settings, recipe=recipe) as engine:
        alone = len(questions) == 1 and not as_json  # what cannot be asked ends it; as JSON it is an answer of no kind
        answers = [engine.ask(questions[0])] if alone else engine.ask_batch(questions)
        quotes = engine.quote([answer.evidence for answer in answers], max_items=max_paths)
        for answer, quote in zip(answers, quotes, strict=True):
            if as_json:
                snippets = {"snippets": quote} if any(quote) else {}
                told = {"reading": reading} if (reading := engine.describe_interpretation(answer.evidence)) else {}
                echo(json.dumps(answer_data(answer) | told | snippets, ensure_ascii=False))
            else:
                echo("\n".join(answer_lines(answer, max_paths, len(questions), quote)))
                if reading := engine.describe_interpretation(answer.evidence):
                    echo(click.style(f"  {printable(reading)}", dim=True))
        if browse:
            from .browse import open_in_browser

            open_in_browser(engine, [answer.evidence for answer in answers])
    if error := next((error for answer in answers if (error := answer.failure or fault_of(answer.evidence))), None):
        raise error
