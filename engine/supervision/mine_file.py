"""Mine a question set into a file of training paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ...models.star.mined import MinedFileOrigin, MinedQuestion, write_mined_file
from ...models.text.encoders import EncoderUnavailableError
from ...models.text.vectors import TextVectors
from ..api import Engine
from ..errors import EncoderError, GraphError, QueryTimeoutError
from ..gold_questions import GoldQuestion, QuestionSet, look_up_answers
from ..indexes.relation_index import index_folder, load_or_build_index
from ..neo4j.catalogue import read_catalogue, read_full_state
from ..neo4j.connection import Connection
from ..neo4j.gateway import Gateway
from ..neo4j.mining import stream_mediator_relations
from ..parallel import HERE, PerProcess, Workers
from ..progress import Progress, ignore_progress
from ..relations.words import words_of_relation
from ..steps import Steps
from ..whole_file import check_output_file, translate_storage_errors
from .labels import KINDS, TrainingExampleBuilder
from .miner import CUTS, Miner, MiningOptions, QuestionPaths
from .placing import REASONS, SkippedQuestion

Mined = list[QuestionPaths | SkippedQuestion]

LABELLED_TOGETHER = 256
"""Questions labelled together; independent of the database's batch size, so that this does not change the file."""


def mine_to_file(
    questions: QuestionSet,
    engine: Engine,
    out: Path,
    options: MiningOptions,
    *,
    batch_size: int | None = None,
    workers: Workers = HERE,
    progress: Progress = ignore_progress,
) -> MinedFileOrigin:
    """Mine the questions in the engine's graph in batches, which `workers` share, write the file and return its header.

    Longer paths need smaller batches, because a batch is held in memory; without `batch_size` it is
    `default_batch_size`.

    Raises `GraphError` if no question can be mined, `StorageError` if `out` cannot be written.
    """
    check_output_file("", out, force=True)  # fail before the work, not after it
    gateway = engine.gateway()
    gateway.run(read_full_state()).check()
    asked = look_up_answers(questions.questions, gateway).questions
    catalogue = gateway.fetch(read_catalogue())
    relations = catalogue.relations
    words = {r.name: words_of_relation(r) for r in relations}
    try:
        index = load_or_build_index(index_folder(engine.settings, engine.connection), catalogue, engine.encoder)
        labeller = TrainingExampleBuilder(words, index, TextVectors(engine.encoder), options)
        size = batch_size or default_batch_size(options.max_hop)
        found = _mine_batches(asked, engine.connection, options, size, workers, progress)
        walked = [each for each in found if isinstance(each, QuestionPaths)]
        if not walked:
            raise GraphError(_nothing(questions, found))
        mined = _label_questions(walked, labeller, progress)
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error
    mining = MinedFileOrigin(
        questions=questions.name,
        questions_sha256=questions.sha256,
        graph=catalogue.vocabulary,
        encoder=engine.encoder.revision,
        max_hop=options.max_hop,
        relations={name: (word.domain, *word.properties) for name, word in words.items()},
        options={name: value for name, value in asdict(options).items() if name != "max_hop"},
        counts=counts_of(found, mined),
    )
    with translate_storage_errors(out):
        write_mined_file(out, mining, mined)
    return mining


def default_batch_size(max_hop: int) -> int:
    """Return the number of questions per batch: 32 for one or two hops, 8 for three, 2 for four."""
    return 32 >> 2 * max(0, max_hop - 2)


def _mine_batches(
    questions: Sequence[GoldQuestion],
    connection: Connection,
    options: MiningOptions,
    batch_size: int,
    workers: Workers,
    progress: Progress,
) -> Mined:
    """Mine in batches, with questions of the same topic side by side; return results in the order of the questions."""
    order = sorted(range(len(questions)), key=lambda i: (questions[i].topic_ids or questions[i].topic_names, i))
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    found: dict[int, QuestionPaths | SkippedQuestion] = {}
    progress("walking", 0, len(questions))
    with PerProcess(partial(_open_miner, connection, options)) as miner:
        results = workers.map(partial(_mine, miner), [[questions[i] for i in batch] for batch in batches])
        for batch, result in zip(batches, results, strict=True):
            found |= zip(batch, result, strict=True)
            progress("walking", len(found), len(questions))
    return [found[i] for i in range(len(questions))]


@contextmanager
def _open_miner(connection: Connection, options: MiningOptions) -> Iterator[tuple[Miner, Gateway]]:
    with Gateway(connection) as gateway:
        mediating = frozenset(gateway.stream(stream_mediator_relations()))
        yield Miner(gateway.fetch(read_catalogue()), mediating, options), gateway


def _mine(opened: PerProcess[tuple[Miner, Gateway]], questions: Sequence[GoldQuestion]) -> Mined:
    miner, gateway = opened.value
    return mine_batch(miner, questions, gateway.run)


def mine_batch(miner: Miner, questions: Sequence[GoldQuestion], run: Callable[[Steps[Mined]], Mined]) -> Mined:
    """Mine a batch; if a query times out, mine each half. Raises `QueryTimeoutError` for a single question."""
    try:
        return run(miner.mine(questions))
    except QueryTimeoutError:
        if len(questions) == 1:
            raise
    half = len(questions) // 2
    return mine_batch(miner, questions[:half], run) + mine_batch(miner, questions[half:], run)


def _label_questions(
    walked: Sequence[QuestionPaths], labeller: TrainingExampleBuilder, progress: Progress
) -> list[MinedQuestion]:
    mined: list[MinedQuestion] = []
    for start in range(0, len(walked), LABELLED_TOGETHER):
        mined += labeller.label(walked[start : start + LABELLED_TOGETHER])
        progress("labelling", len(mined), len(walked))
    return mined


def counts_of(found: Sequence[QuestionPaths | SkippedQuestion], mined: Iterable[MinedQuestion]) -> dict[str, int]:
    """Return the counts of questions, left out questions by reason, paths, negatives by kind, and cuts."""
    counts = dict.fromkeys(
        (
            "questions",
            *(f"left out: {reason}" for reason in REASONS),
            "without a positive path",
            "answer paths",
            "positive paths",
            *(f"{kind} negatives" for kind in KINDS),
            *(f"cut {what}" for what in CUTS),
        ),
        0,
    )
    for each in found:
        if isinstance(each, SkippedQuestion):
            counts[f"left out: {each.reason}"] += 1
        else:
            for what in CUTS:
                counts[f"cut {what}"] += each.num_cut[what]
    for question in mined:
        num_positive = sum(path.positive for path in question.paths)
        counts["questions"] += 1
        counts["without a positive path"] += not num_positive
        counts["answer paths"] += len(question.paths)
        counts["positive paths"] += num_positive
        for negative in question.negatives:
            counts[f"{negative.kind} negatives"] += 1
    return counts


def _nothing(questions: QuestionSet, found: Sequence[QuestionPaths | SkippedQuestion]) -> str:
    reasons = Counter(each.reason for each in found if isinstance(each, SkippedQuestion))
    why = ", ".join(f"{number:,} with {reason}" for reason, number in reasons.items())
    return f"{questions.name}: expected questions about this graph, found {why or 'none'}: load their graph"
