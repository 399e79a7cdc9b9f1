"""Answer questions from the graph (`lodestar ask`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from ..errors import UsageError
from ..progress import make_printable, show_status
from . import asks_for_json, show
from .options import NO_QUESTION, json_option, question_options, ray_option, recipe_options

if TYPE_CHECKING:
    from ..api import Engine
    from ..evidence import Answer, Evidence, Item
    from ..evidence.conversion import Quotes
    from ..parallel import PerProcessResource, WorkerPool
    from ..recipes import Recipe
    from ..settings import Settings
    from ..values import Question

    Found = tuple[Answer | Evidence[Item], Quotes]

MAX_SHOWN = 3
"""Items of evidence that are printed below an answer."""
SAMPLES = 2
"""Plans that a language model writes for a question that is not answered surely without it."""
TOGETHER = 64
"""Questions of a file that are asked together; more together are not faster (docs/results.md)."""


@click.command()
@question_options
@click.option("--llm", is_flag=True, help="Let a language model answer from the evidence (see docs/llm.md).")
@click.option("--paths-only", is_flag=True, help="Find and rank the evidence, without an answer.")
@click.option("--trace", is_flag=True, help="Count each stage's calls: Cypher, FAISS, device, language model.")
@recipe_options
@ray_option
@json_option
def command(
    questions: list[Question],
    settings: Settings,
    recipe: Recipe,
    workers: WorkerPool,
    llm: bool,
    paths_only: bool,
    trace: bool,
) -> None:
    """Answer questions from the graph, and show the evidence for the answers.

    \b
    Examples:
      lodestar ask "What is the capital of Peru?"
      lodestar ask --topic geo.country.PE "Which currency is used there?"
      lodestar ask --json --file questions.txt > answers.jsonl
      lodestar ask --recipe "star + merge" --set star.checkpoint=FOLDER "Where was Ann born?"
    """
    from ..api import Engine, find_question_error
    from ..evidence import Answer
    from ..parallel import PerProcessResource
    from ..recipes import read_recipe
    from .render import answer_lines, evidence_lines, trace_lines

    if not questions:
        raise UsageError(NO_QUESTION)
    if llm:
        more = {"plans.samples": SAMPLES} if "plans" in recipe.parts else {}
        recipe = read_recipe(recipe, options={"answerer.kind": "llm", **more})
    alone = len(questions) == 1 and not asks_for_json()  # what cannot be asked ends it; in JSON it is an answer
    together = TOGETHER
    if recipe.answerer.name == "llm" and not paths_only:  # their answers are seen one by one
        from ..llm.gguf import GGUF

        together = 1 if settings.llm_base_url == GGUF else settings.llm_concurrency
    parts = [questions[start : start + together] for start in range(0, len(questions), together)]
    failed = None
    with PerProcessResource(partial(Engine, settings, recipe=recipe)) as opened:
        for found in workers.map(partial(_retrieve if paths_only else _ask, opened, alone=alone), parts):
            for each, quotes in found:
                evidence = each.evidence if isinstance(each, Answer) else each
                failed = failed or (each.failure if isinstance(each, Answer) else None) or find_question_error(evidence)
                num_asked = len(found) if each is found[-1][0] else 0
                if isinstance(each, Answer):
                    lines = answer_lines(each, MAX_SHOWN, num_asked, quotes)
                else:
                    title = click.style(make_printable(evidence.question.text), bold=True)
                    lines = chain([title], evidence_lines(evidence, recipe.top_k, num_asked))
                if trace and num_asked:
                    lines = chain(lines, trace_lines(evidence.trace.costs))
                data = each.to_dict(trace=trace) | ({"snippets": quotes} if any(quotes) else {})
                show(data, lines, styled=True)
    if failed:
        raise failed


def _retrieve(opened: PerProcessResource[Engine], questions: Sequence[Question], *, alone: bool) -> list[Found]:
    found = opened.value.retrieve_batch(questions)
    if alone:
        raise_fault(found[0])
    return [(each, ()) for each in found]


def _ask(opened: PerProcessResource[Engine], questions: Sequence[Question], *, alone: bool) -> list[Found]:
    """Return the answers with the snippets of their first items. alone: raise what keeps it from being asked."""
    engine = opened.value
    if alone:
        with show_status("looking for the answer …"):
            answers = [engine.ask(questions[0])]
        raise_fault(answers[0].evidence)
    else:
        answers = engine.ask_batch(questions)
    quotes = engine.quote([answer.evidence for answer in answers], max_items=MAX_SHOWN)
    return list(zip(answers, quotes, strict=True))


def raise_fault(evidence: Evidence[Item]) -> None:
    """Raise why a question could not be asked, if that is so."""
    from ..api import find_question_error

    if (fault := find_question_error(evidence)) is not None:
        raise fault
