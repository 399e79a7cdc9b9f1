"""A run: every question of a set through a recipe, one record each, resumable at any moment."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..answering.extractive import ExtractiveAnswerer
from ..answering.llm import LLMAnswerer
from ..api import Engine
from ..database.catalogue import read_graph_state
from ..errors import StorageError, UsageError
from ..recipes.recipe import Recipe
from ..server.connecting import connection_of
from ..server.locking import locked
from ..settings import Settings
from ..stages import Answerer, Retriever
from .asking import Asker
from .baselines.chance import RandomRetriever
from .baselines.nearest import ShortestPathRetriever
from .baselines.oracle import OracleRetriever
from .baselines.pagerank import PageRankRetriever
from .diagnosis import Diagnosis
from .gold import GoldQuestion, QuestionSet
from .provenance import provenance
from .record import Record
from .records_file import RecordsFile
from .whole_graph import MAX_TRIPLES, WholeGraph

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


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its records in the order of the set, and what they depend on."""

    questions: tuple[GoldQuestion, ...]
    records: tuple[Record, ...]
    provenance: dict[str, Any] = field(default_factory=dict)


def sampled(questions: QuestionSet, limit: int | None, seed: int) -> tuple[GoldQuestion, ...]:
    """Return a sample of the questions in the order of the set; all of them without a limit or where it is larger."""
    if limit is None or limit >= len(questions.questions):
        return questions.questions
    chosen = random.Random(seed).sample(range(len(questions.questions)), limit)  # noqa: S311 - a sample, no secret
    return tuple(questions.questions[index] for index in sorted(chosen))


def run(
    questions: QuestionSet,
    recipe: Recipe,
    settings: Settings,
    options: RunOptions,
    progress: Progress = lambda _done, _total: None,
) -> Run:
    """Ask the questions that have no record yet, and return all records.

    Raises `UsageError` when the folder keeps another run, `LodestarError` for what no question could be asked with.
    """
    asked = sampled(questions, options.limit, recipe.seed)
    with _held(options.folder), _engine(asked, recipe, settings, options) as (engine, diagnosis):
        asked = tuple(map(diagnosis.with_names, asked)) if diagnosis else asked
        stated = provenance(engine, recipe, questions, options.limit, link=options.link)
        records_path = options.folder / "records.jsonl"
        _take_folder(options, stated, records_path)
        file = RecordsFile(records_path)
        done = {record.id: record for record in file.read()}
        left = [question for question in asked if question.id not in done]
        asker = Asker(engine, diagnosis, link=options.link)
        progress(len(asked) - len(left), len(asked))
        with file:
            for record in _in_parallel(asker.ask, left, options.workers):
                file.add(record)
                done[record.id] = record
                progress(len(done), len(asked))
    return Run(asked, tuple(done[question.id] for question in asked), stated)


@contextmanager
def _engine(
    asked: Sequence[GoldQuestion], recipe: Recipe, settings: Settings, options: RunOptions
) -> Iterator[tuple[Engine, Diagnosis | None]]:
    """Open the engine of a recipe, and the whole graph where baselines or the diagnosis of misses need it."""
    connection = connection_of(settings)
    answerer: Answerer = ExtractiveAnswerer(min_probability=recipe.answerer.min_probability)
    if recipe.answerer.kind == "llm":
        answerer = LLMAnswerer.of(settings)
    with Engine(settings, options=recipe.search, answerer=answerer, connection=connection) as reader:
        graph = None
        fits = reader.gateway().fetch(read_graph_state()).num_triples <= MAX_TRIPLES
        if recipe.retriever != "beam" or (options.diagnose and fits):
            graph = WholeGraph.read(reader.gateway())
        diagnosis = Diagnosis(graph, recipe.search.max_hop) if graph else None
    retriever = _retriever(recipe, graph, diagnosis, asked)
    with Engine(
        settings, options=recipe.search, retriever=retriever, answerer=answerer, connection=connection
    ) as engine:
        engine.prepare()
        yield engine, diagnosis


def _retriever(
    recipe: Recipe, graph: WholeGraph | None, diagnosis: Diagnosis | None, asked: Sequence[GoldQuestion]
) -> Retriever | None:
    """Return the retriever of a baseline, None for the engine's own beam search."""
    if graph is None or diagnosis is None or recipe.retriever == "beam":
        return None
    max_hop = recipe.search.max_hop
    if recipe.retriever == "oracle":
        return OracleRetriever(graph, max_hop, {question.id: diagnosis.gold_ids(question) for question in asked})
    if recipe.retriever == "random":
        return RandomRetriever(graph, max_hop, recipe.seed)
    return {"pagerank": PageRankRetriever, "shortest": ShortestPathRetriever}[recipe.retriever](graph, max_hop)


def _in_parallel(
    ask: Callable[[GoldQuestion], Record], questions: Sequence[GoldQuestion], workers: int
) -> Iterator[Record]:
    """Yield records as they are finished; what was not begun when the caller stops is not asked."""
    remaining = iter(questions)
    under_way: set[Future[Record]] = set()
    with ThreadPoolExecutor(workers, thread_name_prefix="lodestar-eval") as pool:
        while True:
            for question in remaining:
                under_way.add(pool.submit(ask, question))
                if len(under_way) == workers:
                    break
            if not under_way:
                return
            finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror}") from error
    with locked(folder / ".lock", f"another run writes to {folder}"):
        yield


def _take_folder(options: RunOptions, stated: dict[str, Any], records_path: Path) -> None:
    """Write down what the run is, or see that the folder keeps the same one."""
    kept = options.folder / "run.json"
    if kept.exists() and not options.fresh:
        try:
            before = json.loads(kept.read_text(encoding="utf-8"))["what"]
        except (ValueError, KeyError, TypeError):
            before = None
        now = json.loads(json.dumps(stated["what"]))
        if before != now:
            raise UsageError(
                f"{options.folder} keeps another run ({_difference(before, now)} differs): "
                "name another --out, or give --fresh to begin anew"
            )
        return
    records_path.unlink(missing_ok=True)
    kept.write_text(json.dumps(stated, indent=2, ensure_ascii=False), encoding="utf-8")


def _difference(before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    return next((name for name in now if not before or before.get(name) != now[name]), "its form")
