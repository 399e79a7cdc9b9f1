"""Ask questions, explain what decided for an answer, browse the paths (`lodestar ask`, `explain`, `browse`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..data_model import Question
from ..errors import InputError, LodestarError, UsageError
from ..file_access import parse_json, read_text_file
from ..progress import make_printable, print_to_stderr, show_status
from . import asks_for_json, show
from .options import json_option, ray_option, recipe_options

if TYPE_CHECKING:
    from ..api import Engine
    from ..evidence import Answer, Evidence, Item
    from ..evidence.chains_and_triples import Quotes
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

topic_option = click.option("--topic", "topics", multiple=True, help="Id or name of an entity it is about; repeatable.")


@click.command()
@click.argument("texts", metavar="[QUESTION]...", nargs=-1)
@click.option("--file", "-f", help="File of questions, one a line, or JSON lines (- is standard input).")
@topic_option
@click.option("--llm", is_flag=True, help="Let a language model answer from the evidence (see docs/llm.md).")
@click.option("--paths-only", is_flag=True, help="Find and rank the evidence, without an answer.")
@click.option("--trace", is_flag=True, help="Count each stage's calls: Cypher, FAISS, device, language model.")
@recipe_options
@ray_option
@json_option
def ask_command(
    texts: tuple[str, ...],
    file: str | None,
    topics: tuple[str, ...],
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
    from ..api import Engine
    from ..evidence import Answer
    from ..parallel import PerProcessResource
    from ..recipes import read_recipe
    from .render import result_lines, trace_lines

    questions = [Question(text, topics) for text in texts] + ([] if file is None else _read_questions(file, topics))
    if not questions:
        raise UsageError("no question: give one as an argument, or a file of questions with --file (- is stdin)")
    if llm:
        more = {"plans.samples": SAMPLES} if "plans" in recipe.parts else {}
        recipe = read_recipe(recipe, options={"answerer.kind": "llm", **more})
    by_llm = recipe.answerer.name == "llm" and not paths_only
    together = settings.llm_concurrency if by_llm else TOGETHER
    parts = [questions[start : start + together] for start in range(0, len(questions), together)]
    max_shown = recipe.top_k if paths_only else MAX_SHOWN
    failed = None
    with PerProcessResource(partial(Engine, settings, recipe=recipe)) as opened:
        for part in workers.map(partial(_ask, opened, paths_only), parts):
            for place, (found, quotes) in enumerate(part, start=1):
                evidence = found.evidence if isinstance(found, Answer) else found
                fault = evidence.fault
                if fault and len(questions) == 1 and not asks_for_json():  # in JSON it is an answer
                    raise fault
                failed = failed or (found.failure if isinstance(found, Answer) else None) or fault
                num_asked = len(part) if place == len(part) else 0
                lines = result_lines(found, max_shown, num_asked=num_asked, quotes=quotes)
                costs = trace_lines(evidence.trace.costs) if trace and num_asked else ()
                data = found.to_dict(trace=trace) | ({"snippets": quotes} if any(quotes) else {})
                show(data, chain(lines, costs), styled=True)
    if failed:
        raise failed


def _ask(opened: PerProcessResource[Engine], paths_only: bool, questions: Sequence[Question]) -> list[Found]:
    """Return what is found for each question, of an answer with the snippets of its first items."""
    from ..evidence.chains_and_triples import collect_snippets

    engine = opened.value
    with show_status("looking for the answer …" if len(questions) == 1 else f"asking {len(questions)} questions …"):
        if paths_only:
            return [(each, ()) for each in engine.retrieve_batch(questions)]
        answers = engine.ask_batch(questions)
        quotes = collect_snippets(engine.gateway(), [answer.evidence for answer in answers], MAX_SHOWN)
    return list(zip(answers, quotes, strict=True))


def _read_questions(file: str, topics: tuple[str, ...]) -> list[Question]:
    """Return the questions in a file (`-` is standard input).

    A line is a question, or a JSON object with `question` and optionally `id`, `topic_entities` and `options` to choose
    from. Blank lines are skipped. Raises `InputError` with file and line.
    """
    questions = []
    for number, line in enumerate(read_text_file(Path(file), "the file of questions", MAX_BYTES).split("\n"), start=1):
        if line.strip():
            try:
                questions.append(_parse_question(line.strip(), topics))
            except (LodestarError, ValueError) as error:
                raise InputError(f"{'standard input' if file == '-' else file}:{number}: {error}") from error
    return questions


def _parse_question(line: str, topics: tuple[str, ...]) -> Question:
    if not line.startswith("{"):
        return Question(line, topics)
    record = parse_json(line)
    text, options = record.get("question"), record.get("options") or []
    named = record.get("topic_entities") or list(topics)
    if not isinstance(text, str) or not all(
        isinstance(some, list) and all(isinstance(each, str) for each in some) for some in (named, options)
    ):
        raise ValueError('expected {"question": text, "id": text, "topic_entities": [texts], "options": [texts]}')
    return Question(text, tuple(named), str(record.get("id", "")), options=tuple(options))


@click.command()
@click.argument("question")
@topic_option
@click.option("--top-k", type=click.IntRange(1), default=5, show_default=True, help="Paths to explain.")
@recipe_options
@json_option
def explain_command(question: str, topics: tuple[str, ...], top_k: int, settings: Settings, recipe: Recipe) -> None:
    """Show an answer with what decided for it.

    Of each path you see how it is read, and where each source of a union has it. Then, what each stage left.

    \b
    Example:
      lodestar explain "Which currency is used in Peru?"
    """
    from ..api import Engine
    from .render import result_lines

    with Engine(settings, recipe=recipe) as engine:
        explanation = engine.explain(Question(question, topics), top_k=top_k)
    answer = explanation.answer
    failed = answer.failure or answer.evidence.fault
    if asks_for_json() or failed is None or answer.evidence.topics:
        lines = result_lines(answer, top_k, reasons=explanation.items)
        more = (click.style(f"  {make_printable(line)}", dim=True) for line in explanation.lines())
        show(explanation.to_dict(), chain(lines, more), styled=True)
    if failed is not None:
        raise failed


@click.command()
@click.argument("question")
@topic_option
@recipe_options
@json_option
def browse_command(question: str, topics: tuple[str, ...], settings: Settings, recipe: Recipe) -> None:
    """Show the paths retrieved for a question in Neo4j Browser: ranked, scored, without the rest of the graph.

    Open the link that this prints. The newest 50 pictures stay in the database, under labels of their own; asking again
    replaces a picture.

    \b
    Example:
      lodestar browse "Which currency is used in the country whose capital is Lima?"
    """
    from ..api import Engine
    from ..neo4j_browser import find_browser_login, store_picture_in_database

    with Engine(settings, recipe=recipe) as engine:
        url, password = find_browser_login(engine)
        evidence = engine.retrieve(Question(question, topics))
        if fault := evidence.fault:
            raise fault
        link = store_picture_in_database(engine.gateway(), url, evidence)
    show({"question": question, "link": link}, [link])
    print_to_stderr(f"log in as {engine.connection.user} with {password}, then press Enter")
