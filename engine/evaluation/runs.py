"""Run a recipe over a question set and record every answer."""

from __future__ import annotations

import json
import logging
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from ...models.text.encoders import SentenceEncoder
from ...models.whole_file import file_sha256
from ..api import Engine
from ..errors import LodestarError, UsageError
from ..gold_questions import GoldQuestion, QuestionSet, look_up_answers, look_up_topic_ids
from ..machine import code_sha256, commit, describe_machine
from ..neo4j.catalogue import read_graph_state, read_loads
from ..parallel import HERE, PerProcess, Workers
from ..recipes.recipe import Recipe
from ..resources import Resources
from ..settings import Settings
from ..whole_file import lock_file, parse_json, translate_storage_errors, write_text_file
from .diagnosis import MissDiagnoser
from .judging import GoldIdResolver, judge_answer, record_failure
from .record import Miss, Record, RecordWriter
from .unanswerable import check_excluded, exclude_relations
from .whole_graph import MAX_TRIPLES, WholeGraph


@dataclass(frozen=True, slots=True)
class EvaluationSetup:
    """An engine with the questions as matched with its graph; `warning` is a message about their answers, or empty."""

    engine: Engine
    questions: tuple[GoldQuestion, ...]
    diagnosis: MissDiagnoser | None
    warning: str


@contextmanager
def set_up_evaluation(
    asked: Sequence[GoldQuestion],
    recipe: Recipe,
    settings: Settings,
    *,
    diagnose: bool,
    unanswerable: bool = False,
    resources: Resources | None = None,
) -> Iterator[EvaluationSetup]:
    """Open the engine of a recipe, and the whole graph if the diagnosis of misses needs it.

    With `unanswerable` each question is repeated with its relations excluded, which needs the whole graph too.
    resources: shared by runs over the same graph.
    """
    with Engine(settings, recipe=recipe, resources=resources) as engine:
        gateway = engine.gateway()
        known = look_up_answers(asked, gateway)
        questions = look_up_topic_ids(known.questions, gateway)
        fits = gateway.fetch(read_graph_state()).num_triples <= MAX_TRIPLES
        diagnosis = None
        if unanswerable or (diagnose and fits):
            gold = engine.resources.get_or_make("whole graph", lambda: GoldIdResolver(WholeGraph.read(gateway)))
            if unanswerable:
                questions += exclude_relations(questions, gold, _max_hop(recipe), return_to_topic=_returns(recipe))
            diagnosis = MissDiagnoser(gold, _max_hop(recipe), return_to_topic=_returns(recipe))
        engine.prepare()
        yield EvaluationSetup(engine, questions, diagnosis, known.warning)


def _max_hop(recipe: Recipe) -> int:
    """Return the largest number of hops of any part of the recipe."""
    return max((getattr(part, "max_hop", 0) for part in recipe.parts.values()), default=0) or 2


def _returns(recipe: Recipe) -> bool:
    return any(getattr(part, "return_to_topic", False) for part in recipe.parts.values())


class Asker:
    """Asks questions with the topic entities of the set or, with `link`, lets the engine link them.

    Without a diagnosis misses have no kind; questions with excluded relations never have one.
    """

    def __init__(self, setup: PerProcess[EvaluationSetup], *, link: bool) -> None:
        self._setup = setup
        self._link = link

    def ask(self, question: GoldQuestion) -> Record:
        """Return the record of a question; an engine error becomes a failure in it, a bug is raised."""
        engine, diagnosis = self._setup.value.engine, self._setup.value.diagnosis
        started_s = time.perf_counter()
        try:
            (answer,) = engine.ask_batch([question.as_question(() if self._link else question.topic_ids)])
            if answer.failure is not None:
                raise answer.failure
        except LodestarError as error:
            seconds = {"failed": time.perf_counter() - started_s}
            miss = Miss("failed") if diagnosis and not question.excluded_relations else None
            return replace(record_failure(question, f"{type(error).__name__}: {error}"), seconds=seconds, miss=miss)
        check_excluded(question, answer.evidence)
        total_s = time.perf_counter() - started_s
        record = judge_answer(question, answer)
        right = record.scores["strict/hits_at_1"] == 1 or bool(question.excluded_relations)
        return replace(
            record,
            seconds={**record.seconds, "total": total_s},
            miss=None if right or not diagnosis else diagnosis.miss(question, answer),
        )


OUTPUTS = ("records.jsonl", "report.json", "report.html")
"""The files of a run in its folder, beside ``run.json``, which identifies the run."""

_log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of finished questions and the total."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run. `folder` stores it; `limit` is the size of a random sample, by the recipe's seed."""

    folder: Path
    workers: Workers = HERE
    limit: int | None = None
    link: bool = False
    diagnose: bool = True
    fresh: bool = False
    unanswerable: bool = False
    """Whether each question is asked again with its relations excluded."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its records in the order of the set, and its provenance."""

    questions: tuple[GoldQuestion, ...]
    records: tuple[Record, ...]
    provenance: dict[str, Any] = field(default_factory=dict)


def ask_remaining_questions(
    questions: QuestionSet,
    recipe: Recipe,
    settings: Settings,
    options: RunOptions,
    progress: Progress = lambda _done, _total: None,
    resources: Resources | None = None,
) -> Run:
    """Ask the questions that have no record yet, and return all records.

    resources: shared by runs over the same graph. Raises `UsageError` if the folder has another run, `LodestarError` if
    no question can be asked.
    """
    opening = partial(
        set_up_evaluation,
        questions.sample(options.limit, recipe.seed),
        recipe,
        settings,
        diagnose=options.diagnose,
        unanswerable=options.unanswerable,
        resources=resources,
    )
    with _hold_folder(options.folder), PerProcess(opening) as setup:
        run = setup.value
        if run.warning:
            _log.warning(run.warning)
        asked = run.questions
        topics = _topics([question for question in asked if not question.excluded_relations], link=options.link)
        stated = provenance(run.engine, recipe, questions, options.limit, topics, unanswerable=options.unanswerable)
        records_path = options.folder / "records.jsonl"
        _take_folder(options, stated)
        file = RecordWriter(records_path)
        done = {record.id: record for record in file.read()}
        left = [question for question in asked if question.id not in done]
        asker = Asker(setup, link=options.link)
        progress(len(asked) - len(left), len(asked))
        with file:
            for record in options.workers.map(asker.ask, left, ordered=False):
                file.add(record)
                done[record.id] = record
                progress(len(done), len(asked))
    return Run(asked, tuple(done[question.id] for question in asked), stated)


def _topics(questions: Sequence[GoldQuestion], *, link: bool) -> str:
    """Return the origin of a run's topic entities, in words."""
    num_given = 0 if link else sum(bool(question.topic_ids) for question in questions)
    if num_given in (0, len(questions)):
        return "given" if num_given else "linked"
    return f"given for {num_given:,} question{'s' * (num_given > 1)}, linked for the others"


@contextmanager
def _hold_folder(folder: Path) -> Iterator[None]:
    with translate_storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = folder / ".lock"
    with lock_file(lock, f"another run writes to {folder}"):
        try:
            yield
        finally:
            if list(folder.iterdir()) == [lock]:  # the run failed before it began
                lock.unlink()
                folder.rmdir()


def _take_folder(options: RunOptions, stated: dict[str, Any]) -> None:
    """Write ``run.json``, or check that the folder has the same run."""
    kept = options.folder / "run.json"
    if kept.exists() and not options.fresh:
        try:
            before = parse_json(kept.read_bytes())["what"]
        except (ValueError, KeyError, TypeError):
            before = None
        now = json.loads(json.dumps(stated["what"]))
        if before != now:
            raise UsageError(
                f"{options.folder} holds another run ({_difference(before, now)} differs): "
                "name another --out, or give --fresh to start again"
            )
        return
    there = [name for name in OUTPUTS if (options.folder / name).exists()]
    if there and not options.fresh:
        raise UsageError(
            f"{options.folder} has a {there[0]} that no run wrote: name another --out, or give --fresh to replace it"
        )
    for name in OUTPUTS:
        (options.folder / name).unlink(missing_ok=True)
    write_text_file(kept, json.dumps(stated, indent=2, ensure_ascii=False))


def _difference(before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    return next((name for name in now if not before or before.get(name) != now[name]), "its format")


def provenance(
    engine: Engine, recipe: Recipe, questions: QuestionSet, limit: int | None, topics: str, *, unanswerable: bool
) -> dict[str, Any]:
    """Return everything that identifies a run, in two parts: `what` decides the figures, `where` may change their cost.

    Two runs with the same `what` give the same figures, except where a language model answers differently.
    """
    gateway = engine.gateway()
    state = gateway.fetch(read_graph_state())
    loads = gateway.fetch(read_loads())
    return {
        "what": {
            "dataset": {
                "name": questions.name,
                "format": questions.format,
                "sha256": questions.sha256,
                "num_questions": len(questions.questions),
                "limit": limit,
            },
            "graph": {
                "loads": [{"source": load.source, "sha256": load.sha256, "checksum": load.checksum} for load in loads],
                "num_triples": state.num_triples,
                "num_entities": state.num_entities,
            },
            "recipe": recipe.as_json(),
            "topics": topics,
            "unanswerable": unanswerable,
            "checkpoints": _checkpoints(recipe),
            "encoder": {"name": engine.settings.encoder, "revision": SentenceEncoder(engine.settings.encoder).revision},
            "llm": engine.settings.llm_model if engine.resources.chat_opened else None,
            "code": code_sha256(),
        },
        "where": {
            "lodestar": metadata.version("lodestar-kg"),
            "commit": commit(),
            "neo4j": gateway.version(),
            "python": platform.python_version(),
            "machine": describe_machine(),
        },
    }


def _checkpoints(recipe: Recipe) -> dict[str, str]:
    """Return for each part the hash of its checkpoint's descriptions, which contain the hashes of the other files."""
    folders = {name: getattr(part, "checkpoint", "") for name, part in recipe.parts.items()}
    return {
        name: " ".join(file_sha256(file) for file in sorted(Path(folder).glob("*.json")))
        for name, folder in folders.items()
        if folder
    }
