"""Run a recipe over a question set, judge every answer, and record it."""

from __future__ import annotations

import json
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import IO, Any, Self

from ...models.message_text import one_line
from ...models.text.encoders import SentenceEncoder
from ...models.training.kind import decode_dataclass
from ...models.whole_file import file_sha256
from ..api import Engine
from ..errors import InputError, LodestarError, UsageError
from ..evidence.bridges import to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import Answer
from ..gold_questions import GoldAnswer, GoldQuestion, QuestionSet, look_up_answers, look_up_topic_ids
from ..machine import code_sha256, commit, describe_machine
from ..neo4j.catalogue import read_graph_state, read_loads
from ..parallel import HERE, PerProcess, Workers
from ..recipes.recipe import Recipe
from ..settings import Settings
from ..values import Entity, Scored
from ..whole_file import lock_file, parse_json, translate_storage_errors, write_text_file
from .diagnosis import MAX_TRIPLES, GoldIdResolver, Miss, MissDiagnoser, WholeGraph, check_excluded, exclude_relations
from .metrics import (
    ALL_WRONG,
    AnswerScores,
    Prediction,
    RetrievedPath,
    answer_ranking,
    answer_recall_at_k,
    first_path_right,
    gold_path_hit_at_k,
    hits_any_at_k,
    hits_at_1_any,
    hits_at_1_expected,
    match_predictions,
    ndcg_at_k,
    path_recall_at_k,
    reciprocal_rank,
    rog_scores,
    strict_scores,
    triple_recall_at_k,
)

Scores = Mapping[str, float]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PathRecord:
    """A retrieved path: `relations` in walking order, with a leading ``^`` if inverse.

    `ends` are the ids of its first ends; `num_right` of its `num_ends` ends are right answers.
    """

    score: float
    topic: str
    relations: tuple[str, ...]
    num_hops: int
    ends: tuple[str, ...]
    num_ends: int
    num_right: int
    text: str
    """One entity path, to a right answer if there is one, as shown to a reader."""


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer, in the order of the answers."""

    name: str
    id: str | None
    confidence: float | None
    origin: str


@dataclass(frozen=True, slots=True)
class Record:
    """One question of a run. `failure` is an error in one line; a failed question counts as wrong.

    `scores` are the question's metrics.
    """

    id: str
    question: str
    topics: tuple[str, ...]
    paths: tuple[PathRecord, ...] = ()
    answers: tuple[AnswerRecord, ...] = ()
    text: str = ""
    failure: str | None = None
    scores: Scores = field(default_factory=dict)
    miss: Miss | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    round_trips: Mapping[str, int] = field(default_factory=dict)
    confidence: float | None = None
    """Confidence of the whole answer, which the answerer compares with its thresholds; None if unknown."""
    excluded_relations: tuple[str, ...] = ()
    """Excluded relations; with them excluded the question has no right answer."""
    num_prompt_tokens: int | None = None
    num_completion_tokens: int | None = None
    expected: tuple[str, ...] = ()
    """Names of the first gold answers."""

    @property
    def right(self) -> bool:
        """Whether the answers are right: an F1 of at least `RIGHT_F1`."""
        return self.scores["strict/f1"] >= RIGHT_F1

    @property
    def shown_confidence(self) -> float | None:
        """The confidence shown beside the answer, in [0, 1]: its own, else the first entity's; None without either."""
        if not self.answers:
            return None
        confidence = self.answers[0].confidence if self.confidence is None else self.confidence
        return None if confidence is None else min(max(confidence, 0.0), 1.0)

    @property
    def abstained(self) -> bool:
        """Whether the system abstained; a failure is no abstention."""
        return not self.answers and self.failure is None

    def as_json(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return asdict(self)


class RecordWriter:
    """Appends records to a file. A line that a kill cut short is removed first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._adding = threading.Lock()
        self._file: IO[bytes] | None = None

    def read(self) -> list[Record]:
        """Return the complete records, in the order of writing. Raises `InputError` for an invalid line."""
        if not self.path.exists():
            return []
        records: list[Record] = []
        for number, line in enumerate(self._complete_lines(), start=1):
            try:
                records.append(decode_dataclass(Record, line))
            except (ValueError, RecursionError) as error:
                raise InputError(f"{self.path}:{number}: expected a record of a run: {one_line(error)}") from error
        return records

    def add(self, record: Record) -> None:
        """Write a record to the disk before returning; thread-safe."""
        line = json.dumps(record.as_json(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with self._adding, translate_storage_errors(self.path):
            assert self._file
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        with translate_storage_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = sum(map(len, self._complete_lines())) if self.path.exists() else 0
            self._file = self.path.open("ab")
            self._file.truncate(whole)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _complete_lines(self) -> list[bytes]:
        return [line for line in self.path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


RIGHT_F1 = 0.8
"""From this F1 of its answers on, a question counts as right."""
CUTS = (1, 2, 3, 5, 10)
"""The k of all metrics at k."""
NUM_PATHS = (3, 5, 7)
"""The numbers of paths in STAR's table."""
MAX_ENDS = 20
DIGITS = 6
"""Of scores and confidences; further digits depend on which texts are encoded together."""


def judge_answer(question: GoldQuestion, answer: Answer) -> Record:
    """Return the record of a question that was answered or abstained from."""
    evidence = answer.evidence
    chains = to_chains(evidence).items
    predictions = [Prediction(each.name, each.id) for each in answer.answers]
    paths = [_path_of_chain(each.value) for each in chains]
    return Record(
        id=question.id,
        question=question.text,
        topics=tuple(topic.entity.id for topic in evidence.topics),
        paths=tuple(_record(each, question.answers) for each in chains),
        answers=tuple(AnswerRecord(e.name, e.id, _round_confidence(e.confidence), e.origin) for e in answer.answers),
        text=answer.text,
        confidence=_round_confidence(answer.confidence),
        excluded_relations=tuple(sorted(question.excluded_relations)),
        scores={
            **_prefix_scores("strict", strict_scores(predictions, question.answers)),
            **_prefix_scores("rog", rog_scores(predictions, question.answers)),
            **_ranking(predictions, question),
            **_paths(paths, question),
        },
        seconds={cost.stage: cost.seconds for cost in evidence.trace},
        round_trips={cost.stage: cost.round_trips for cost in evidence.trace if cost.round_trips},
        num_prompt_tokens=answer.usage.prompt if answer.usage else None,
        num_completion_tokens=answer.usage.completion if answer.usage else None,
        expected=_expected(question),
    )


def record_failure(question: GoldQuestion, failure: str) -> Record:
    """Return the record of a question that failed with an error: every metric is 0, none is left out."""
    figures = {**_ranking([], question), **_paths([], question)}
    return Record(
        id=question.id,
        question=question.text,
        topics=(),
        failure=failure,
        excluded_relations=tuple(sorted(question.excluded_relations)),
        scores={
            **_prefix_scores("strict", ALL_WRONG),
            **_prefix_scores("rog", ALL_WRONG),
            **dict.fromkeys(figures, 0.0),
        },
        expected=_expected(question),
    )


def _expected(question: GoldQuestion) -> tuple[str, ...]:
    return tuple(next(iter(answer.names), answer.id or "") for answer in question.answers[:MAX_ENDS])


def _prefix_scores(way: str, scores: AnswerScores) -> dict[str, float]:
    return {f"{way}/{name}": value for name, value in asdict(scores).items()}


def _ranking(predictions: list[Prediction], question: GoldQuestion) -> dict[str, float]:
    ranking = answer_ranking(predictions, question.answers)
    return {"mrr": reciprocal_rank(ranking), "ndcg@10": ndcg_at_k(ranking, 10)}


def _paths(paths: list[RetrievedPath], question: GoldQuestion) -> dict[str, float]:
    figures = {
        "path/hits_at_1_any": hits_at_1_any(paths, question.answers),
        "path/hits_at_1_expected": hits_at_1_expected(paths, question.answers),
        **{f"path/hits_any@{k}": hits_any_at_k(paths, question.answers, k) for k in NUM_PATHS},
        **{f"path/answer_recall@{k}": answer_recall_at_k(paths, question.answers, k) for k in CUTS},
    }
    if question.paths:
        figures["path/first_path_right"] = first_path_right(paths, question.answers, question.paths)
        figures |= {f"path/path_recall@{k}": path_recall_at_k(paths, question.paths, k) for k in CUTS}
        figures |= {f"path/gold_path_hit@{k}": gold_path_hit_at_k(paths, question.paths, k) for k in CUTS}
    if question.triples:
        figures |= {f"path/triple_recall@{k}": triple_recall_at_k(paths, question.triples, k) for k in CUTS}
    return figures


def _path_of_chain(chain: Chain) -> RetrievedPath:
    return RetrievedPath(
        tuple(step.step.relation for step in chain.steps),
        tuple(_prediction(end) for end in chain.ends),
        tuple(
            (_prediction(triple.head), triple.relation, _prediction(triple.tail))
            for step in chain.triples()
            for triple in step
        ),
    )


def _record(scored: Scored[Chain], gold: tuple[GoldAnswer, ...]) -> PathRecord:
    chain = scored.value
    right = match_predictions([_prediction(end) for end in chain.ends], gold)
    first = next((end for end, is_right in zip(chain.ends, right, strict=True) if is_right), None)
    instances = chain.instances()
    instance = next((i for i in instances if i.end == first), next(iter(instances), None))
    return PathRecord(
        score=round(scored.score, DIGITS),
        topic=chain.topic.id,
        relations=tuple(str(step.step) for step in chain.steps),
        num_hops=chain.relation_path.num_hops,
        ends=tuple(end.id for end in chain.ends[:MAX_ENDS]),
        num_ends=len(chain.ends),
        num_right=sum(right),
        text=str(instance) if instance else "",
    )


def _prediction(entity: Entity) -> Prediction:
    return Prediction(entity.label, entity.id)


def _round_confidence(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, DIGITS)


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
) -> Iterator[EvaluationSetup]:
    """Open the engine of a recipe, and the whole graph if the diagnosis of misses needs it.

    With `unanswerable` each question is repeated with its relations excluded, which needs the whole graph too.
    """
    with Engine(settings, recipe=recipe) as engine:
        gateway = engine.gateway()
        known = look_up_answers(asked, gateway)
        questions = look_up_topic_ids(known.questions, gateway)
        fits = gateway.run(read_graph_state()).num_triples <= MAX_TRIPLES
        diagnosis = None
        if unanswerable or (diagnose and fits):
            gold = GoldIdResolver(WholeGraph.read(gateway))
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
        miss = None
        if diagnosis and not record.right and not question.excluded_relations:
            first_is_right = record.scores["strict/hits_at_1"] == 1
            miss = Miss("in part") if first_is_right else diagnosis.miss(question, answer)
        return replace(record, seconds={**record.seconds, "total": total_s}, miss=miss)


RECORDS, REPORT, PAGE = OUTPUTS = ("records.jsonl", "report.json", "report.html")
"""The files of a run in its folder, beside ``run.json``, which identifies the run."""

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
) -> Run:
    """Ask the questions that have no record yet, and return all records.

    Raises `UsageError` if the folder has another run, `LodestarError` if no question can be asked.
    """
    opening = partial(
        set_up_evaluation,
        questions.sample(options.limit, recipe.seed),
        recipe,
        settings,
        diagnose=options.diagnose,
        unanswerable=options.unanswerable,
    )
    with _hold_folder(options.folder), PerProcess(opening) as setup:
        run = setup.value
        if run.warning:
            _log.warning(run.warning)
        asked = run.questions
        topics = _topics([question for question in asked if not question.excluded_relations], link=options.link)
        stated = provenance(run.engine, recipe, questions, options.limit, topics, unanswerable=options.unanswerable)
        _take_folder(options, stated)
        file = RecordWriter(options.folder / RECORDS)
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
    state = gateway.run(read_graph_state())
    loads = gateway.run(read_loads())
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
