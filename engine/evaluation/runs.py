"""Run a recipe over a question set, judge every answer, and record it."""

from __future__ import annotations

import json
import logging
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from ...models import one_line
from ...models.atomic_files import compute_file_sha256, open_with_folder_permissions
from ...models.kinds import decode_dataclass
from ...models.text.encoders import SentenceEncoder
from ..api import Engine
from ..data_model import Chain, Scored
from ..errors import InputError, LodestarError, UsageError
from ..evidence import Answer
from ..evidence.chains_and_triples import convert_to_chains
from ..evidence.text import format_item
from ..file_access import lock_file, parse_json, translate_storage_errors, write_text_file
from ..gold_questions import (
    NO_ANSWER,
    NO_TOPIC,
    TOO_LONG,
    GoldQuestion,
    QuestionSet,
    SkippedQuestion,
    add_graph_names_to_gold_answers,
    look_up_gold_answers,
    look_up_topic_ids,
)
from ..machine import code_sha256, describe_machine
from ..neo4j.catalogue import read_catalogue, read_graph_state, read_loads
from ..neo4j.gateway import Gateway
from ..neo4j.graph_requests import stream_mediator_relations
from ..parallel import HERE, PerProcessResource, WorkerPool
from ..progress import Progress, ignore_progress
from ..recipes import Recipe
from ..retrieval.beam import FrontierBounds
from ..settings import Settings
from ..supervision import MiningOptions, PathMiner
from ..supervision.mining import mine_in_halves
from . import (
    Prediction,
    RetrievedPath,
    compute_answer_scores,
    compute_path_scores,
    compute_rog_scores,
    judge_predictions,
)

_log = logging.getLogger(__name__)

RIGHT_F1 = 0.8
"""From this F1 of its answers on, a question counts as right."""
MAX_ENDS = 20
MAX_RENAMED = 500
"""Entities found for a question whose other names are read, to compare gold answers that are names."""
DIGITS = 6
"""Of scores and confidences; further digits depend on which texts are encoded together."""
RECORDS, REPORT, PAGE = OUTPUTS = ("records.jsonl", "report.json", "report.md")
"""The files of a run in its folder, beside ``run.json``, which identifies the run."""


EVERY = FrontierBounds(proposers=1_000)
"""Paths also through entities that the search itself would not walk on from."""

KINDS = {
    "failed": "it failed",
    "not linked": "no entity of the question was found",
    "not in the graph": "no right answer is in the graph",
    "out of reach": "no path of the allowed hops leads to a right answer",
    "pruned": "the search dropped the right path",
    "not the first": "the right path came back at rank {}",
    "lost by the answerer": "the first path leads to a right answer, and another was given",
    "in part": "the first answer is right, others are wrong or missing",
}
"""Kinds of misses, in the order of the checks, with what they mean."""


@dataclass(frozen=True, slots=True)
class MissReason:
    """Why a question is answered wrongly: one of `KINDS`; place: the rank of the path that is not the first."""

    kind: str
    place: int | None = None


class MissDiagnoser:
    """Determines the kinds of misses in the graph of a gateway, for searches of at most `max_hop` hops: at which stage
    a gold answer was lost, by the paths that mining finds between topics and gold answers."""

    def __init__(self, gateway: Gateway, max_hop: int, *, return_to_topic: bool = False) -> None:
        options = MiningOptions(max_hop=max_hop, return_to_topic=return_to_topic, bounds=EVERY)
        mediating = frozenset(gateway.stream(stream_mediator_relations()))
        self._miner = PathMiner(gateway, gateway.run(read_catalogue()), mediating, options)

    def miss(self, question: GoldQuestion, answer: Answer) -> MissReason | None:
        """Return the kind of miss of a question whose first answer is wrong or missing; None if it takes too long."""
        evidence = answer.evidence
        started = tuple(topic.entity.id for topic in evidence.topics)
        wanted = question.topic_ids
        if not started or (wanted and not set(wanted) & set(started)):
            return MissReason("not linked")
        for rank, chain in enumerate(evidence.chains, start=1):
            ends = [Prediction(end.label, end.id) for end in chain.value.ends]
            if any(judge_predictions(ends, question.answers)):
                return MissReason("lost by the answerer") if rank == 1 else MissReason("not the first", rank)
        (found,) = mine_in_halves(self._miner.mine, [replace(question, topic_ids=started, paths=())])
        if isinstance(found, SkippedQuestion):
            if found.reason == TOO_LONG:
                return None
            kinds = {NO_TOPIC: "not linked", NO_ANSWER: "not in the graph"}
            return MissReason(kinds.get(found.reason, "out of reach"))
        return MissReason("pruned")


@dataclass(frozen=True, slots=True)
class PathRecord:
    """A retrieved path: its relations in walking order, ``^`` before an inverse one, and its text with one end."""

    score: float
    topic: str
    relations: tuple[str, ...]
    num_ends: int
    text: str

    @classmethod
    def of(cls, scored: Scored[Chain]) -> PathRecord:
        chain = scored.value
        relations = tuple(str(step.step) for step in chain.steps)
        text = format_item(chain, max_names=1)
        return cls(round(scored.score, DIGITS), chain.topic.id, relations, len(chain.ends), text)


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer, in the order of the answers."""

    name: str
    id: str | None
    confidence: float | None
    origin: str


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """One question of a run with its metrics (`scores`). A `failure` is an error in one line; it counts as wrong.

    `confidence` is that of the whole answer. `expected` are the names of the first gold answers.
    """

    id: str
    question: str
    topics: tuple[str, ...] = ()
    paths: tuple[PathRecord, ...] = ()
    answers: tuple[AnswerRecord, ...] = ()
    text: str = ""
    failure: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    miss: MissReason | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    round_trips: Mapping[str, int] = field(default_factory=dict)
    confidence: float | None = None
    num_prompt_tokens: int | None = None
    num_completion_tokens: int | None = None
    expected: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
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
        return not self.answers and self.failure is None


def read_question_records(folder: str | Path) -> list[QuestionRecord]:
    """Return the complete records of a run's folder, as written. Raises `InputError` for an invalid line."""
    file, records = Path(folder) / RECORDS, list[QuestionRecord]()
    for number, line in enumerate(_complete_lines(file), start=1):
        try:
            records.append(decode_dataclass(QuestionRecord, line))
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}:{number}: expected a record of a run: {one_line(error)}") from error
    return records


@contextmanager
def open_record_writer(folder: Path) -> Iterator[Callable[[QuestionRecord], None]]:
    """Yield what appends a record, on the disk before it returns. A line that a kill cut short is removed first."""
    file = folder / RECORDS
    with translate_storage_errors(file), open_with_folder_permissions(file, "ab") as opened:
        opened.truncate(sum(map(len, _complete_lines(file))))

        def add(record: QuestionRecord) -> None:
            line = json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":"))
            opened.write(line.encode() + b"\n")
            opened.flush()
            os.fsync(opened.fileno())

        yield add


def _complete_lines(file: Path) -> list[bytes]:
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    return [line for line in lines if line.endswith(b"\n")]


def judge_answer(question: GoldQuestion, answer: Answer) -> QuestionRecord:
    """Return the record of a question that was answered or abstained from; triples in its evidence are no paths."""
    evidence = answer.evidence
    chains = evidence.chains
    predictions = [Prediction(each.name, each.id) for each in answer.answers]
    paths = [
        RetrievedPath(
            tuple(step.step.relation for step in each.value.steps),
            tuple(Prediction(end.label, end.id) for end in each.value.ends),
        )
        for each in chains
    ]
    return replace(
        _record(question),
        topics=tuple(topic.entity.id for topic in evidence.topics),
        paths=tuple(map(PathRecord.of, chains)),
        answers=tuple(AnswerRecord(e.name, e.id, _rounded(e.confidence), e.origin) for e in answer.answers),
        text=answer.text,
        confidence=_rounded(answer.confidence),
        scores=_scores(question, predictions, paths),
        seconds={cost.stage: cost.seconds for cost in evidence.trace.costs},
        round_trips={cost.stage: cost.round_trips for cost in evidence.trace.costs if cost.round_trips},
        num_prompt_tokens=answer.usage.prompt if answer.usage else None,
        num_completion_tokens=answer.usage.completion if answer.usage else None,
    )


def record_failure(question: GoldQuestion, failure: str) -> QuestionRecord:
    """Return the record of a question that failed with an error: every metric is 0, none is left out."""
    return replace(_record(question), failure=failure, scores=dict.fromkeys(_scores(question, [], []), 0.0))


def _record(question: GoldQuestion) -> QuestionRecord:
    expected = tuple(next(iter(answer.names), answer.id or "") for answer in question.answers[:MAX_ENDS])
    return QuestionRecord(question.id, question.text, expected=expected)


def _scores(
    question: GoldQuestion, predictions: Sequence[Prediction], paths: Sequence[RetrievedPath]
) -> dict[str, float]:
    gold = question.answers
    return (
        compute_answer_scores(predictions, gold)
        | compute_rog_scores(predictions, gold)
        | compute_path_scores(paths, question)
    )


def _rounded(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, DIGITS)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run. `folder` stores it; `limit` is the size of a random sample, by the recipe's seed.

    link: let the engine find the topics instead of using those of the set.
    """

    folder: Path
    workers: WorkerPool = HERE
    limit: int | None = None
    link: bool = False
    diagnose: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its records in the order of the set, and its provenance. linked: all topics, by the engine."""

    questions: tuple[GoldQuestion, ...]
    records: tuple[QuestionRecord, ...]
    provenance: dict[str, Any] = field(default_factory=dict)
    linked: bool = False


def ask_remaining_questions(
    questions: QuestionSet,
    recipe: Recipe,
    settings: Settings,
    options: RunOptions,
    progress: Progress = ignore_progress,
) -> Run:
    """Ask the questions that have no record yet, and return all records.

    Raises `UsageError` if the folder has another run, `LodestarError` if no question can be asked.
    """
    sample = questions.sample(options.limit, recipe.seed)
    opening = partial(_open, sample, recipe, settings, options.diagnose)
    with _hold_folder(options.folder), PerProcessResource(opening) as opened:
        run = opened.value
        if run.warning:
            _log.warning(run.warning)
        asked = run.questions
        stated = _provenance(run, recipe, questions, options)
        _take_folder(options, stated)
        done = {record.id: record for record in read_question_records(options.folder)}
        left = [question for question in asked if question.id not in done]
        progress("questions", len(asked) - len(left), len(asked))
        with open_record_writer(options.folder) as add:
            for record in options.workers.map(partial(_ask, opened, options.link), left, ordered=False):
                add(record)
                done[record.id] = record
                progress("questions", len(done), len(asked))
    return Run(asked, tuple(done[question.id] for question in asked), stated, options.link)


@dataclass(frozen=True, slots=True)
class _Opened:
    engine: Engine
    questions: tuple[GoldQuestion, ...]
    diagnosis: MissDiagnoser | None
    warning: str


@contextmanager
def _open(sample: Sequence[GoldQuestion], recipe: Recipe, settings: Settings, diagnose: bool) -> Iterator[_Opened]:
    with Engine(settings, recipe=recipe) as engine:
        gateway = engine.gateway()
        known = look_up_gold_answers(sample, gateway)
        questions = look_up_topic_ids(known.questions, gateway)
        parts = recipe.parts.values()
        max_hop = max((getattr(part, "max_hop", 0) for part in parts), default=0) or 2
        returns = any(getattr(part, "return_to_topic", False) for part in parts)
        diagnosis = MissDiagnoser(gateway, max_hop, return_to_topic=returns)
        engine.prepare()
        yield _Opened(engine, questions, diagnosis if diagnose else None, known.warning)


def _ask(opened: PerProcessResource[_Opened], link: bool, question: GoldQuestion) -> QuestionRecord:
    """Ask a question and return its record; an engine error becomes a failure in it, a bug is raised.

    Without a diagnosis misses have no kind.
    """
    engine, diagnosis = opened.value.engine, opened.value.diagnosis
    started_s = time.perf_counter()
    try:
        (answer,) = engine.ask_batch([question.as_question(() if link else question.topic_ids)])
        if answer.failure is not None:
            raise answer.failure
        total_s = time.perf_counter() - started_s
        (chains,) = convert_to_chains(engine.gateway(), [answer.evidence])
        answer = replace(answer, evidence=chains)
    except LodestarError as error:
        seconds = {"failed": time.perf_counter() - started_s}
        failed = record_failure(question, f"{type(error).__name__}: {error}")
        return replace(failed, seconds=seconds, miss=MissReason("failed") if diagnosis else None)
    record = judge_answer(question, answer)
    if not record.right and any(gold.id is None for gold in question.answers):
        ends = (end.id for chain in chains.items for end in chain.value.ends)
        ids = dict.fromkeys((*(each.id for each in answer.answers if each.id), *ends))
        question = add_graph_names_to_gold_answers(question, list(ids)[:MAX_RENAMED], engine.gateway())
        record = judge_answer(question, answer)
    miss = None
    if diagnosis and not record.right:
        first_is_right = record.scores["strict/hits_at_1"] == 1
        miss = MissReason("in part") if first_is_right else diagnosis.miss(question, answer)
    return replace(record, seconds={**record.seconds, "total": total_s}, miss=miss)


@contextmanager
def _hold_folder(folder: Path) -> Iterator[None]:
    with translate_storage_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = folder / ".lock"
    with lock_file(lock, f"another run writes to {folder}"):
        try:
            yield
        finally:
            if list(folder.iterdir()) == [lock]:  # the run failed before it began
                lock.unlink()
                folder.rmdir()


def _take_folder(options: RunOptions, stated: dict[str, Any]) -> None:
    kept = options.folder / "run.json"
    if any((options.folder / name).exists() for name in (*OUTPUTS, kept.name)):
        try:
            before = parse_json(kept.read_bytes())["what"]
        except (OSError, ValueError, KeyError, TypeError):
            before = {}
        now = json.loads(json.dumps(stated["what"]))
        if before == now:
            return
        differs = next((name for name in now if before.get(name) != now[name]), "its format")
        raise UsageError(
            f"{options.folder} holds another run, or files that no run wrote ({differs} differs): name another --out, "
            "or delete the folder"
        )
    write_text_file(kept, json.dumps(stated, indent=2, ensure_ascii=False))


def _provenance(run: _Opened, recipe: Recipe, questions: QuestionSet, options: RunOptions) -> dict[str, Any]:
    """Return everything that identifies a run, in two parts: `what` decides the figures, `where` may change their cost.

    Two runs with the same `what` give the same figures, except where a language model answers differently.
    """
    settings, gateway = run.engine.settings, run.engine.gateway()
    state = gateway.run(read_graph_state())
    num_given = 0 if options.link else sum(bool(question.topic_ids) for question in run.questions)
    topics = f"given for {num_given:,} of {len(run.questions):,}, linked for the others"
    checkpoints = {name: getattr(part, "checkpoint", "") for name, part in recipe.parts.items()}
    return {
        "what": {
            "dataset": {
                "name": questions.name,
                "format": questions.format,
                "sha256": questions.sha256,
                "num_questions": len(questions.questions),
                "limit": options.limit,
            },
            "graph": {
                "loads": [
                    {"source": load.source, "sha256": load.sha256, "checksum": load.checksum}
                    for load in gateway.run(read_loads())
                ],
                "num_triples": state.num_triples,
                "num_entities": state.num_entities,
            },
            "recipe": recipe.as_json(),
            "topics": {0: "linked", len(run.questions): "given"}.get(num_given, topics),
            "checkpoints": {  # their descriptions have the hashes of the other files
                name: " ".join(compute_file_sha256(file) for file in sorted(Path(folder).glob("*.json")))
                for name, folder in checkpoints.items()
                if folder
            },
            "encoder": {"name": settings.encoder, "revision": SentenceEncoder(settings.encoder).revision},
            "llm": settings.llm_model if run.engine.resources.chat_opened else None,
            "code": code_sha256(),
        },
        "where": {
            "lodestar": metadata.version("lodestar-kg"),
            "neo4j": gateway.version(),
            "python": platform.python_version(),
            "machine": describe_machine(),
        },
    }
