"""Ask questions, explain what decided for an answer, browse the paths (`lodestar ask`, `explain`, `browse`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..data_model import Question
from ..errors import InputError, LodestarError, UsageError
from ..file_access import parse_json, read_text_file
from ..progress import make_printable, print_to_stderr, show_status
from . import asks_for_json, print_report, show
from .options import json_option, options_for, ray_option, recipe_options

if TYPE_CHECKING:
    from ..api import Engine
    from ..evidence import Answer, Evidence, Item
    from ..evidence.conversion import Quotes
    from ..parallel import PerProcessResource, WorkerPool
    from ..recipes import Recipe
    from ..settings import Settings

    Found = tuple[Answer | Evidence[Item], Quotes]

MAX_SHOWN = 3
"""Items of evidence that are printed below an answer."""
SAMPLES = 2
"""Plans that a language model writes for a question that is not answered surely without it."""
TOGETHER = 64
"""Questions of a file that are asked together; more together are not faster (docs/results.md)."""
MAX_BYTES = 200_000_000
"""Of questions in a file."""
NO_QUESTION = "no question: give one as an argument, or a file of questions with --file (- is stdin)"


def _read_questions(texts: Sequence[str], file: str | None, topics: Sequence[str]) -> dict[str, Any]:
    """Return the questions given as arguments and in `file` (`-` is standard input).

    A line of a file is a question, or a JSON object with `question` and optionally `id`, `topic_entities` or
    `topic_names`, and `options` to choose from. Blank lines are skipped. Raises `InputError` with file and line.
    """
    questions = [Question(text, tuple(topics)) for text in texts]
    lines = [] if file is None else read_text_file(Path(file), "the file of questions", MAX_BYTES).split("\n")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                questions.append(_parse_question(line.strip(), topics))
            except (LodestarError, ValueError) as error:
                raise InputError(f"{'standard input' if file == '-' else file}:{number}: {error}") from error
    return {"questions": questions}


def _parse_question(line: str, topics: Sequence[str]) -> Question:
    if not line.startswith("{"):
        return Question(line, tuple(topics))
    record = parse_json(line)
    text, options = record.get("question"), record.get("options") or []
    named = record.get("topic_entities") or record.get("topic_names") or list(topics)
    if not isinstance(text, str) or not all(
        isinstance(some, list) and all(isinstance(each, str) for each in some) for some in (named, options)
    ):
        raise ValueError(
            'expected {"question": text, "id": text, "topic_entities": [ids] or "topic_names": [names], '
            '"options": [texts]}'
        )
    return Question(text, tuple(named), str(record.get("id", "")), options=tuple(options))


topic_option = click.option("--topic", "topics", multiple=True, help="Id or name of an entity it is about; repeatable.")
question_options = options_for(
    _read_questions,
    click.argument("texts", metavar="[QUESTION]...", nargs=-1),
    click.option("--file", "-f", help="File of questions, one a line, or JSON lines (- is standard input)."),
    topic_option,
)
"""[QUESTION]..., --file, --topic: `questions`, perhaps none."""


@click.command()
@question_options
@click.option("--llm", is_flag=True, help="Let a language model answer from the evidence (see docs/llm.md).")
@click.option("--paths-only", is_flag=True, help="Find and rank the evidence, without an answer.")
@click.option("--trace", is_flag=True, help="Count each stage's calls: Cypher, FAISS, device, language model.")
@recipe_options
@ray_option
@json_option
def ask_command(
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
    together = TOGETHER
    if recipe.answerer.name == "llm" and not paths_only:  # their answers are seen one by one
        from ..llm.gguf import GGUF

        together = 1 if settings.llm_base_url == GGUF else settings.llm_concurrency
    parts = [questions[start : start + together] for start in range(0, len(questions), together)]
    failed = None
    with PerProcessResource(partial(Engine, settings, recipe=recipe)) as opened:
        for found in workers.map(partial(_ask, opened, paths_only), parts):
            for each, quotes in found:
                evidence = each.evidence if isinstance(each, Answer) else each
                fault = find_question_error(evidence)
                if fault and len(questions) == 1 and not asks_for_json():  # in JSON it is an answer
                    raise fault
                failed = failed or (each.failure if isinstance(each, Answer) else None) or fault
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


def _ask(opened: PerProcessResource[Engine], paths_only: bool, questions: Sequence[Question]) -> list[Found]:
    """Return what is found for each question, of an answer with the snippets of its first items."""
    engine = opened.value
    with show_status("looking for the answer …"):
        if paths_only:
            return [(each, ()) for each in engine.retrieve_batch(questions)]
        answers = engine.ask_batch(questions)
        quotes = engine.quote([answer.evidence for answer in answers], max_items=MAX_SHOWN)
    return list(zip(answers, quotes, strict=True))


@click.command()
@click.argument("question")
@topic_option
@click.option("--top-k", type=click.IntRange(1), default=5, show_default=True, help="Paths to explain.")
@recipe_options
@json_option
def explain_command(question: str, topics: tuple[str, ...], top_k: int, settings: Settings, recipe: Recipe) -> None:
    """Show an answer with what decided for it.

    Of each path you see how it is read (the kind of thing that the question asks for, the phrase that matched), where
    each source of a union has it, and in per cent what a cross-attentive scorer attends to: [QSP] in the question and
    [PSP] in the path (STAR, section 5.4). At the end, how many items each stage left.

    \b
    Examples:
      lodestar explain "Which currency is used in Peru?" --checkpoint star
    """
    from ..api import Engine, find_question_error
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


@click.command()
@question_options
@click.option("--clear", is_flag=True, help="Only remove all pictures from the database.")
@click.option("--no-open", is_flag=True, help="Print the links without opening the web browser.")
@recipe_options
@json_option
def browse_command(questions: list[Question], settings: Settings, recipe: Recipe, clear: bool, no_open: bool) -> None:
    """Open the paths retrieved for questions in Neo4j Browser: ranked, scored, without the rest of the graph.

    The paths are stored beside the graph, under separate labels, until --clear. Asking again replaces a picture.

    \b
    Examples:
      lodestar browse "Which currency is used in the country whose capital is Lima?"
      lodestar browse --clear
    """
    from .. import neo4j_browser
    from ..api import Engine, find_question_error

    if clear and questions:
        raise UsageError("--clear removes every picture: give it without a question")
    if not clear and not questions:
        raise UsageError(NO_QUESTION)
    with Engine(settings, recipe=recipe) as engine:
        gateway = engine.gateway()
        if clear:
            removed = neo4j_browser.delete_pictures(gateway)
            shown = ", ".join(f"{number:,} {name}" for name, number in removed.items())
            print_report(f"removed the pictures: {shown}", removed)
            return
        url, password = neo4j_browser.find_browser(engine)
        links: list[str] = []
        for evidence in engine.retrieve_batch(questions):
            question, fault = evidence.question, find_question_error(evidence)
            if fault and len(questions) == 1:
                raise fault
            try:
                links.append(neo4j_browser.write_picture(gateway, url, evidence))
            except UsageError as error:  # nothing was found
                print_to_stderr(str(error))
            else:
                show({"id": question.id, "question": question.text, "link": links[-1]}, links[-1:])
    if links:
        print_to_stderr(f"log in as {engine.connection.user} with {password}, then press Enter")
        if not no_open and not neo4j_browser.open_in_web_browser(links[0]):
            print_to_stderr("no web browser found here: open the link yourself")
