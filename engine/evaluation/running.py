"""A run: every question of a set through a recipe, one record each, resumable at any moment."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..questions.gold import GoldQuestion, QuestionSet
from ..recipes.recipe import Recipe
from ..resources import Resources
from ..server.file_lock import locked
from ..settings import Settings
from ..whole_file import parsed_json, storing, write_text_file
from .asking import Asker
from .opening import opened
from .provenance import provenance
from .records.record import Record
from .records.records_file import RecordsFile

OUTPUTS = ("records.jsonl", "report.json", "report.html")
"""What a run writes into its folder, beside ``run.json`` which says what it is."""

_log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of questions done and of all."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is done. `folder` keeps it; `limit` takes a sample of so many questions, by the recipe's seed."""

    folder: Path
    workers: int = 1
    limit: int | None = None
    link: bool = False
    diagnose: bool = True
    fresh: bool = False
    unanswerable: bool = False
    """Whether each question is asked again without its relations."""


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its records in the order of the set, and what they depend on."""

    questions: tuple[GoldQuestion, ...]
    records: tuple[Record, ...]
    provenance: dict[str, Any] = field(default_factory=dict)


def run_all(
    questions: QuestionSet,
    recipe: Recipe,
    settings: Settings,
    options: RunOptions,
    progress: Progress = lambda _done, _total: None,
    resources: Resources | None = None,
) -> Run:
    """Ask the questions that have no record yet, and return all records.

    resources: what runs over the same graph share. Raises `UsageError` when the folder keeps another run,
    `LodestarError` for what no question could be asked with.
    """
    asked = questions.sampled(options.limit, recipe.seed)
    with (
        _held(options.folder),
        opened(
            asked,
            recipe,
            settings,
            diagnose=options.diagnose,
            unanswerable=options.unanswerable,
            resources=resources,
        ) as run,
    ):
        if run.warning:
            _log.warning(run.warning)
        asked = run.questions
        topics = _topics([question for question in asked if not question.without], link=options.link)
        stated = provenance(run.engine, recipe, questions, options.limit, topics, unanswerable=options.unanswerable)
        records_path = options.folder / "records.jsonl"
        _take_folder(options, stated)
        file = RecordsFile(records_path)
        done = {record.id: record for record in file.read()}
        left = [question for question in asked if question.id not in done]
        asker = Asker(run.engine, run.diagnosis, link=options.link)
        progress(len(asked) - len(left), len(asked))
        with file:
            for record in _in_parallel(asker.ask, left, options.workers):
                file.add(record)
                done[record.id] = record
                progress(len(done), len(asked))
    return Run(asked, tuple(done[question.id] for question in asked), stated)


def _in_parallel(
    ask: Callable[[GoldQuestion], Record], questions: Sequence[GoldQuestion], workers: int
) -> Iterator[Record]:
    """Yield records as they are finished; what was not begun when the caller stops is not asked."""
    with ThreadPoolExecutor(workers, thread_name_prefix="lodestar-eval") as pool:
        try:
            for future in as_completed([pool.submit(ask, question) for question in questions]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _topics(questions: Sequence[GoldQuestion], *, link: bool) -> str:
    """Return where the topic entities of a run are from, in words."""
    num_given = 0 if link else sum(bool(question.topic_ids) for question in questions)
    if num_given in (0, len(questions)):
        return "given" if num_given else "linked"
    return f"given for {num_given:,} question{'s' * (num_given > 1)}, linked for the others"


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", f"another run writes to {folder}"):
        yield


def _take_folder(options: RunOptions, stated: dict[str, Any]) -> None:
    """Write down what the run is, or see that the folder keeps the same one."""
    kept = options.folder / "run.json"
    if kept.exists() and not options.fresh:
        try:
            before = parsed_json(kept.read_bytes())["what"]
        except (ValueError, KeyError, TypeError):
            before = None
        now = json.loads(json.dumps(stated["what"]))
        if before != now:
            raise UsageError(
                f"{options.folder} keeps another run ({_difference(before, now)} differs): "
                "name another --out, or give --fresh to begin anew"
            )
        return
    there = [name for name in OUTPUTS if (options.folder / name).exists()]
    if there and not options.fresh:
        raise UsageError(
            f"{options.folder} has a {there[0]} that no run made: name another --out, or give --fresh to replace it"
        )
    for name in OUTPUTS:
        (options.folder / name).unlink(missing_ok=True)
    write_text_file(kept, json.dumps(stated, indent=2, ensure_ascii=False))


def _difference(before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    return next((name for name in now if not before or before.get(name) != now[name]), "its form")
