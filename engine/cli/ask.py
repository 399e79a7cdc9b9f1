"""Answer questions from the graph (`lodestar ask`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ..progress import show_status
from .options import (
    database_options,
    json_option,
    question_options,
    search_options,
    settings_and_recipe,
    worker_options,
    workers_from,
)
from .terminal import echo, printable

if TYPE_CHECKING:
    from ..api import Engine
    from ..evidence.evidence import Answer, Evidence, Item
    from ..evidence.extras import Quotes
    from ..parallel import PerProcess
    from ..recipes.recipe import Recipe
    from ..values import Question, Topic

    Told = tuple[Answer, Quotes]
    """An answer, and the snippets of its first items."""

MAX_SHOWN = 3
"""Items of evidence that are printed below an answer."""
SHOWN_CHARS = 60
"""Of a reply that is being written: the end of it, in a line of a terminal."""
TOGETHER = 64
"""Questions of a file that are asked together; more together are not faster (docs/results.md)."""


@click.command()
@question_options
@click.option("--llm", is_flag=True, help="Let a language model answer from the evidence (see docs/llm.md).")
@click.option(
    "--forms/--no-forms",
    default=None,
    help="Handle forms (how many, yes/no, most, more than, both, or, not) always, or never. Default: where that is "
    "sure (docs/questions.md).",
)
@click.option("--paths-only", is_flag=True, help="Find and rank the evidence, without an answer.")
@search_options
@worker_options
@json_option
@database_options
def command(
    texts: tuple[str, ...],
    file: str | None,
    topics: tuple[str, ...],
    llm: bool,
    forms: bool | None,
    paths_only: bool,
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
      cat questions.txt | lodestar ask --paths-only --json --file - > paths.jsonl
      lodestar ask --json --file questions.txt --ray 10.0.0.1:6379 > answers.jsonl
      lodestar ask --recipe "star + merge" --set star.checkpoint=FOLDER "Where was Ann born?"
    """
    from ..api import Engine, find_fault
    from ..evidence.evidence import answer_data, evidence_data
    from ..parallel import PerProcess
    from ..watchers import WatchedRecipe
    from .options import questions_from
    from .render import answer_lines, evidence_lines

    questions = questions_from(texts, file, topics)
    workers = workers_from(flags)
    settings, recipe = settings_and_recipe(flags, llm=llm, forms=forms)
    alone = len(questions) == 1 and not as_json  # what cannot be asked ends it; as JSON it is an answer of no kind
    parts = [questions[start : start + TOGETHER] for start in range(0, len(questions), TOGETHER)]
    if alone and sys.stderr.isatty() and not workers.ray:
        recipe = WatchedRecipe.wrap(recipe)
    failed = None
    with PerProcess(partial(Engine, settings, recipe=recipe)) as opened:
        if paths_only:
            for found in workers.map(partial(_retrieve, opened), parts):
                for evidence in found:
                    if as_json:
                        echo(json.dumps(evidence_data(evidence), ensure_ascii=False))
                    else:
                        echo(click.style(printable(evidence.question.text), bold=True))
                        echo("\n".join(evidence_lines(evidence, recipe.top_k, len(found))))
                    failed = failed or find_fault(evidence)
            parts = []
        ask = partial(_ask, opened, alone=alone)
        for part, told in zip(parts, workers.map(ask, parts), strict=True):
            for answer, quotes in told:
                if as_json:
                    more = {"snippets": quotes} if any(quotes) else {}
                    echo(json.dumps(answer_data(answer) | more, ensure_ascii=False))
                else:
                    echo("\n".join(answer_lines(answer, MAX_SHOWN, len(part), quotes)))
                failed = failed or answer.failure or find_fault(answer.evidence)
    if failed:
        raise failed


def _retrieve(opened: PerProcess[Engine], questions: Sequence[Question]) -> list[Evidence[Item]]:
    engine = opened.value
    return [engine.retrieve(questions[0])] if len(questions) == 1 else engine.retrieve_batch(questions)


def _ask(opened: PerProcess[Engine], questions: Sequence[Question], *, alone: bool) -> list[Told]:
    """Return what is to be told of each question. alone: raise what keeps it from being asked."""
    engine = opened.value
    if alone:
        with _show_progress(engine.recipe, questions[0]):
            answers = [engine.ask(questions[0])]
    else:
        answers = engine.ask_batch(questions)
    quotes = engine.quote([answer.evidence for answer in answers], max_items=MAX_SHOWN)
    return list(zip(answers, quotes, strict=True))


@contextmanager
def _show_progress(recipe: Recipe, question: Question) -> Iterator[None]:
    """Show while a question is answered what it is about, then the end of what a language model has written."""
    from ..watchers import Watch, WatchedRecipe

    if not isinstance(recipe, WatchedRecipe):
        yield
        return
    written = ""
    with show_status("reading the question …") as show:

        def show_topics(topics: Sequence[Topic]) -> None:
            about = ", ".join(topic.entity.label for topic in topics)
            show(printable(f"answering from what is known of {about} …" if about else "answering …"))

        def show_text(text: str) -> None:
            nonlocal written
            written += text
            show(printable(" ".join(written[-SHOWN_CHARS:].split())))

        with recipe.watches.of({question: Watch(on_topics=show_topics, on_text=show_text)}):
            yield
