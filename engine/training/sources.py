"""Read the training data of a kind of model: mined paths, subgraphs, candidate pools or readings of question sets.

What is made from the graph is made once and stored in the checkpoint's folder.
"""

from __future__ import annotations

import glob
import hashlib
import json
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...models.mined import MinedFileError, PoolFile
from ...models.placement import Placement, PlacementError
from ...models.reader.fitting import ReaderTrainingSet
from ...models.reader.model import READS
from ...models.reg_path.writing import RelationTokens
from ...models.reg_triple.kind import SubgraphOptions
from ...models.star.mined import MinedFile, is_mined, read_mined_file
from ...models.subgraphs import VERSION, GraphFileError, QuestionGraphs, QuestionLabels, read_graphs, relabel_graphs
from ...models.text.encoders import EncoderUnavailableError, SentenceEncoder
from ...models.text.vectors import TextVectors
from ...models.training.kind import PATHS, POOLS, READINGS, SUBGRAPHS, AnyKind, Inputs, LearnsFrom
from ...models.words import fold_spelling
from ..answering.candidates import find_candidates
from ..answering.reader import encode_questions, make_reader_columns
from ..api import Engine
from ..errors import DatabaseUnavailableError, EncoderError, InputError, UsageError
from ..evidence.calibration import SIMILARITY, Calibration
from ..evidence.evidence import Evidence
from ..gold_questions import GoldQuestion, QuestionSet, look_up_answers, look_up_topic_ids
from ..neo4j.catalogue import read_catalogue
from ..progress import Progress, ignore_progress, progress_bar
from ..recipes.recipe import Recipe, read_recipe
from ..relations.words import words_of_relations
from ..retrieval.scoring import PathScorer
from ..settings import Settings
from ..supervision.mining import MiningOptions, mine_to_file
from ..supervision.pools import PoolBounds, mine_pool
from ..supervision.refine import pool_of
from ..supervision.subgraphs import write_question_graphs
from ..whole_file import lock_file, translate_storage_errors

Say = Callable[[str], None]

DIGITS = 12
"""Digits of the graph's fingerprint in the file name."""


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A request for training.

    train_files, dev_files: question sets, or mined files. folder: of the checkpoint. read_questions: reads a question
    set. limit: most questions of each set. fresh: start again. options: of the data source, by the names of its
    command-line options. say: receives messages.
    """

    train_files: Sequence[str]
    dev_files: Sequence[str]
    folder: Path
    settings: Settings
    read_questions: Callable[[str], QuestionSet]
    seed: int = 0
    limit: int | None = None
    fresh: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    say: Say = lambda _: None

    @property
    def device(self) -> str:
        """The PyTorch device of the settings. Raises `UsageError` if it does not exist."""
        try:
            return Placement(self.settings.device, self.settings.precision).torch_device
        except PlacementError as error:
            raise UsageError(f"device: {error}") from error

    def questions(self, file: str) -> QuestionSet:
        """Return a question set, or a random sample of it if there is a limit."""
        questions = self.read_questions(file)
        sample = questions.sample(self.limit, self.seed)
        if len(sample) == len(questions.questions):
            return questions
        digest = hashlib.sha256(f"{questions.sha256}/{self.limit}/{self.seed}".encode())
        return replace(questions, questions=sample, sha256=digest.hexdigest())


def make_once_per_graph(
    request: TrainingRequest, of: str, name: str, doing: str, make: Callable[[Engine, Path, Progress], object]
) -> Path:
    """Return a file in the training's folder, made now or by an earlier run of it; one process makes it for all.

    of: the name of the question set. name: of the file, with * for the graph's fingerprint. doing: for the progress. If
    the graph cannot be reached, an existing file is used. Raises `UsageError` if the folder has a file from another
    graph, or from this one before a change, unless the training starts again; `StorageError` if the folder cannot be
    written.
    """
    folder = request.folder
    start, _, suffix = name.rpartition("*")
    with translate_storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with lock_file(folder / f".{start}lock", f"another process is {doing} {of}"):
            kept = sorted(folder.glob(f"{glob.escape(start)}{'[0-9a-f]' * DIGITS}{suffix}"))
            try:
                with Engine(request.settings) as engine:
                    fingerprint = engine.gateway().run(read_catalogue()).fingerprint
                    wanted = folder / f"{start}{fingerprint[:DIGITS]}{suffix}"
                    for path in [path for path in kept if path != wanted]:
                        if not request.fresh:
                            raise UsageError(
                                f"{path} was made from another graph, or from this one before a change: name another "
                                "--out, or give --fresh to make it and train again"
                            )
                        path.unlink(missing_ok=True)
                    if not wanted.exists():
                        with progress_bar(of, doing) as (progress, _):
                            make(engine, wanted, progress)
            except DatabaseUnavailableError as error:
                if not kept:
                    raise
                wanted = kept[-1]
                request.say(
                    f"{wanted.name} was made earlier; it is unknown whether the graph has changed since: {error}"
                )
    return wanted


def read_mined(path: str) -> MinedFile:
    """Read a mined file. Raises `InputError` if it is missing or damaged."""
    try:
        return read_mined_file(Path(path))
    except MinedFileError as error:
        raise InputError(str(error)) from error


def mine_set(request: TrainingRequest, questions: QuestionSet, options: MiningOptions) -> MinedFile:
    """Return the mined paths of a question set, mined now or by an earlier run. Errors: `make_once_per_graph`."""
    returning = "-returning" if options.return_to_topic else ""
    name = f"mined-{questions.name}-{questions.sha256[:8]}{returning}-{options.max_hop}-{options.seed}"

    def mine(engine: Engine, wanted: Path, progress: Progress) -> None:
        mine_to_file(questions, engine, wanted, options, progress=progress)

    return read_mined(str(make_once_per_graph(request, questions.name, f"{name}-*.jsonl.gz", "mining", mine)))


def sample_mined(mined: MinedFile, limit: int | None, seed: int) -> MinedFile:
    """Return a random sample of the questions of a mined file, in its order; all without a limit."""
    if limit is None or limit >= len(mined.questions):
        return mined
    places = sorted(random.Random(seed).sample(range(len(mined.questions)), limit))  # noqa: S311 - a sample, no secret
    mining = mined.mining
    name = f"sample of {limit}, seed {seed}"
    digest, of_set = (
        hashlib.sha256(f"{of}/{name}".encode()).hexdigest() for of in (mined.sha256, mining.questions_sha256)
    )
    mining = replace(mining, questions=f"{mining.questions}, to {name}", questions_sha256=of_set)
    return MinedFile(mining, tuple(mined.questions[place] for place in places), digest)


@contextmanager
def open_path_scorer(
    settings: Settings, name: str, log_odds: float
) -> Iterator[tuple[PathScorer, Collection[str], float]]:
    """Yield the scorer `similarity` or that of a checkpoint's folder, the relations it knows, and the score that
    equals this many log-odds.

    Raises `CheckpointError` if the checkpoint cannot be read or is of another graph.
    """
    from ..retrieval.similarity import SimilarityScorer
    from ..retrieval.star import Star

    with Engine(settings) as engine:
        graph = engine.resources.of_graph(engine.gateway().run(read_catalogue()))
        if name == "similarity":
            shared = graph.shared
            scorer: PathScorer = SimilarityScorer(graph.words, shared.encoder, shortlist=1_000, vectors=shared.vectors)
            calibration = SIMILARITY
        else:
            scorer = trained = Star(checkpoint=name).scorer(graph)
            calibration = Calibration("logit", *trained.model.checkpoint.description.calibration)
        yield scorer, graph.words.keys(), calibration.from_log_odds(log_odds)


def pool_set(request: TrainingRequest, questions: QuestionSet) -> PoolFile:
    """Return the candidate pools of a question set, mined now or by an earlier run. Errors: `make_once_per_graph`."""

    def mine(engine: Engine, wanted: Path, progress: Progress) -> None:
        mine_pool(questions, engine, wanted, PoolBounds(), progress=progress)

    name = f"pool-{questions.name}-{questions.sha256[:8]}"
    return pool_of(make_once_per_graph(request, questions.name, f"{name}-*.jsonl.gz", "mining", mine))


def read_refined_pools(supervision: Sequence[str], sets: Collection[str]) -> dict[str, PoolFile]:
    """Return the pools of the files of `lodestar refine` among `supervision`, by the hash of their question set.

    sets: the hashes of the question sets of this training. Raises `UsageError` for a pool of none of them, `InputError`
    for an invalid file.
    """
    pools = {pool.header.questions_sha256: pool for pool in (pool_of(Path(n)) for n in supervision if n != WEAK)}
    if others := set(pools) - set(sets):
        names = ", ".join(sorted(pools[sha].header.questions for sha in others))
        raise UsageError(
            f"--supervision: expected candidate pools of the question sets of this training, found one of {names}: "
            "mine it from a set of --dataset or --dev"
        )
    return pools


def match_refined_pools(pools: Sequence[PoolFile], supervision: Sequence[str]) -> list[PoolFile]:
    """Return the pools, each replaced by its version from `lodestar refine` if one of these files is of its questions.

    See `read_refined_pools`.
    """
    refined = read_refined_pools(supervision, [pool.header.questions_sha256 for pool in pools])
    return [refined.get(pool.header.questions_sha256, pool) for pool in pools]


def read_relation_tokens(settings: Settings) -> RelationTokens:
    """Return the tokens of the graph's relations."""
    with Engine(settings) as engine:
        catalogue = engine.gateway().run(read_catalogue())
    return RelationTokens.of(words_of_relations(catalogue.relations))


WEAK = "weak"


def graph_set(
    request: TrainingRequest,
    questions: QuestionSet,
    subgraph: SubgraphOptions,
    vectors: TextVectors,
    *,
    open_domain: bool = False,
) -> QuestionGraphs:
    """Return the subgraphs of a question set, read from the graph now or by an earlier run.

    open_domain: also of questions whose answers are not in the graph. Errors: `make_once_per_graph`.
    """
    mode = ["open domain"] if open_domain else []
    how = json.dumps([VERSION, vectors.encoder.name, subgraph.as_json(), *mode], sort_keys=True)
    name = f"subgraphs-{questions.name}-{questions.sha256[:8]}-{hashlib.sha256(how.encode()).hexdigest()[:8]}"

    def read(engine: Engine, wanted: Path, progress: Progress) -> None:
        write_question_graphs(questions, engine, vectors, wanted, subgraph, open_domain=open_domain, progress=progress)

    try:
        return read_graphs(make_once_per_graph(request, questions.name, f"{name}-*.safetensors", "reading", read))
    except GraphFileError as error:
        raise InputError(str(error)) from error
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error


def supervise_subgraphs(sets: Sequence[QuestionGraphs], supervision: Sequence[str], say: Say) -> list[QuestionGraphs]:
    """Return the subgraphs with the requested supervision: `weak`, or candidate pools by file, each for its question
    set; see `read_refined_pools`. A set without a pool has weak supervision.

    say: receives how many questions of a set keep their shortest paths.
    """
    pools = read_refined_pools(supervision, [graphs.texts.questions_sha256 for graphs in sets])
    found = []
    for graphs in sets:
        pool = pools.get(graphs.texts.questions_sha256)
        if pool is None:
            found.append(graphs)
            continue
        changed, num_kept = relabel_graphs(graphs, pool)
        say(
            f"{graphs.texts.questions_name}: {changed.supervision}; {num_kept:,} of {len(graphs):,} questions keep "
            "their shortest paths"
        )
        found.append(changed)
    return found


BATCH = 16


def retrieve_for_reader(
    questions: QuestionSet, engine: Engine, *, reads: int = READS, progress: Progress = ignore_progress
) -> tuple[list[GoldQuestion], list[Evidence[Any]]]:
    """Return the questions that have an answer in the graph, and the evidence of each: the first `reads` items."""
    gateway = engine.gateway()
    known = look_up_answers([each for each in questions.questions if each.answers], gateway).questions
    asked = look_up_topic_ids(known, gateway)
    if not asked:
        raise UsageError(f"{questions.name}: expected questions with right answers, found none")
    found: list[Evidence[Any]] = []
    progress("reading", 0, len(asked))
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        found += engine.retrieve_batch([each.as_question(each.topic_ids) for each in batch], top_k=reads)
        progress("reading", len(found), len(asked))
    return list(asked), [replace(each, trace=()) for each in found]


def build_reader_training_set(
    questions: QuestionSet,
    asked: Sequence[GoldQuestion],
    found: Sequence[Evidence[Any]],
    engine: Engine,
    vectors: TextVectors,
) -> ReaderTrainingSet:
    """Return the candidates of evidence, and which are right."""
    catalogue = engine.gateway().run(read_catalogue())
    words = words_of_relations(catalogue.relations)
    candidates = find_candidates(found)
    columns = make_reader_columns(candidates, found, words, vectors)
    ids = [{each.id for each in question.answers if each.id} for question in asked]
    names = [
        {fold_spelling(name) for each in question.answers if not each.id for name in each.names} for question in asked
    ]
    return ReaderTrainingSet(
        questions.name,
        questions.sha256,
        catalogue.vocabulary,
        tuple(each.text for each in asked),
        tuple(frozenset(each.topic_ids) for each in asked),
        encode_questions(found, vectors),
        candidates.starts,
        np.array(
            [
                entity.id in ids[question] or fold_spelling(entity.label) in names[question]
                for question, entity in zip(candidates.question.tolist(), candidates.entities, strict=True)
            ],
            dtype=np.bool_,
        ),
        np.array([len(each.answers) for each in asked], dtype=np.int64),
        tuple(columns),
    )


def read_inputs(kind: AnyKind, config: Any, request: TrainingRequest) -> Inputs[Any]:
    """Return the training set and dev of a kind of model.

    Raises `UsageError` for missing questions, `InputError` for files that cannot be read, and the errors of the
    database if the graph is needed.
    """
    encoders: dict[str, TextVectors] = {}

    def vectors_of(encoder: str) -> TextVectors:
        if encoder not in encoders:
            encoders[encoder] = TextVectors(SentenceEncoder(encoder, device=request.device))
        return encoders[encoder]

    inputs: Inputs[Any] = Inputs((), (), request.device, vectors_of)
    return _READERS[kind.learns_from](config, request, inputs)


def _read_paths(_config: Any, request: TrainingRequest, inputs: Inputs[Any]) -> Inputs[MinedFile]:
    options = request.options
    mining = MiningOptions(
        max_hop=options.get("max_hop", 2), return_to_topic=bool(options.get("return_to_topic")), seed=request.seed
    )

    def mined(file: str) -> MinedFile:
        if is_mined(Path(file)):
            return sample_mined(read_mined(file), request.limit, request.seed)
        return mine_set(request, request.questions(file), mining)

    train, dev = (list(map(mined, files)) for files in (request.train_files, request.dev_files))
    return replace(inputs, train=train, dev=dev, any_graph=bool(options.get("any_graph")))


def _read_subgraphs(config: Any, request: TrainingRequest, inputs: Inputs[Any]) -> Inputs[QuestionGraphs]:
    sets = list(map(request.questions, (*request.train_files, *request.dev_files)))
    graphs = [
        graph_set(
            request,
            questions,
            config.subgraph,
            inputs.vectors_of(config.encoder),
            open_domain=config.open_domain,
        )
        for questions in sets
    ]
    graphs = supervise_subgraphs(graphs, request.options.get("supervision", (WEAK,)), request.say)
    train = len(request.train_files)
    return replace(inputs, train=graphs[:train], dev=graphs[train:], beside=labels_of_sets(sets))


def labels_of_sets(sets: Sequence[QuestionSet]) -> list[QuestionLabels]:
    """Return the answers and options of the questions, which the graph does not have."""
    return [
        QuestionLabels(
            questions.name,
            question.id,
            tuple(answer.names[0] if answer.names else answer.id or "" for answer in question.answers),
            all(answer.names for answer in question.answers),
            question.options,
        )
        for questions in sets
        for question in questions.questions
    ]


def _read_pools(_config: Any, request: TrainingRequest, inputs: Inputs[Any]) -> Inputs[Any]:
    sets = map(request.questions, (*request.train_files, *request.dev_files))
    pools = [pool_set(request, questions) for questions in sets]
    pools = match_refined_pools(pools, request.options.get("supervision", (WEAK,)))
    train = len(request.train_files)
    tokens = read_relation_tokens(request.settings)
    return replace(inputs, train=pools[:train], dev=pools[train:], beside=tokens)


def _read_readings(config: Any, request: TrainingRequest, inputs: Inputs[Any]) -> Inputs[Any]:
    sets = [list(map(request.questions, files)) for files in (request.train_files, request.dev_files)]
    recipe = request.options.get("recipe") or request.settings.recipe
    vectors = inputs.vectors_of(config.encoder)
    with (
        Engine(request.settings, recipe=recipe_with_checkpoint(recipe, request.options.get("checkpoint"))) as engine,
        progress_bar("the questions", "reading") as (progress, _),
    ):
        for warning in list_known_questions(sets[0], engine):
            request.say(warning)
        train, dev = (
            [
                build_reader_training_set(
                    each, *retrieve_for_reader(each, engine, reads=config.reads, progress=progress), engine, vectors
                )
                for each in some
            ]
            for some in sets
        )
    return replace(inputs, train=train, dev=dev)


def list_known_questions(sets: Sequence[QuestionSet], engine: Engine) -> list[str]:
    """Return in words which question sets, by name or hash, a checkpoint of the engine's recipe was trained on."""
    found = []
    for name, part in engine.recipe.parts.items():
        if folder := getattr(part, "checkpoint", ""):
            _, description = engine.resources.describe(folder, *part.kinds)
            known = {key for each in description.train for key in (each.questions, each.questions_sha256)}
            found += [
                f"{each.name}: {name} learned from these questions, so the reader will trust it too much: give others"
                for each in sets
                if {each.name, each.sha256} & known
            ]
    return found


def recipe_with_checkpoint(recipe: str, checkpoint: str | None) -> Recipe:
    """Return a recipe whose first part with a checkpoint has this one; raise `UsageError` where there is none."""
    if not checkpoint:
        return read_recipe(recipe)
    part = read_recipe(recipe).part_with("checkpoint")
    if part is None:
        raise UsageError(f"--checkpoint: no part of the recipe {recipe} takes one")
    return read_recipe(recipe, options={f"{part}.checkpoint": checkpoint})


_READERS: Mapping[LearnsFrom, Callable[[Any, TrainingRequest, Inputs[Any]], Inputs[Any]]] = {
    PATHS: _read_paths,
    SUBGRAPHS: _read_subgraphs,
    POOLS: _read_pools,
    READINGS: _read_readings,
}
