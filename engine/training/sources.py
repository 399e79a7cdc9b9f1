"""Read the training data of a kind of model: mined paths, subgraphs, candidate pools or readings of question sets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...models.placement import Placement, PlacementError
from ...models.star.mined import MinedFile, is_mined
from ...models.subgraphs import QuestionGraphs, QuestionLabels
from ...models.text.encoders import SentenceEncoder
from ...models.text.vectors import TextVectors
from ...models.training.kind import PATHS, POOLS, READINGS, SUBGRAPHS, AnyKind, Inputs, LearnsFrom
from ..api import Engine
from ..errors import UsageError
from ..gold_questions import QuestionSet
from ..progress import Progress, progress_bar
from ..recipes.recipe import Recipe, read_recipe
from ..settings import Settings
from ..supervision.miner import MiningOptions
from .once_per_graph import Say
from .path_sets import collect_relation_examples, mine_set, read_mined, sample_mined
from .pool_sets import match_refined_pools, pool_set, read_relation_tokens
from .readings import collect_reader_training_set
from .subgraph_sets import WEAK, graph_set, supervise_subgraphs


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

    def bar(self, name: str, doing: str) -> Callable[[], AbstractContextManager[tuple[Progress, Say]]]:
        """Return a function that shows a progress bar."""
        return partial(progress_bar, name, doing)


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
    if not request.train_files or not request.dev_files:
        missing = "--dataset" if not request.train_files else "--dev"
        raise UsageError(f"{missing}: expected questions, found none: name a question set")
    mining = MiningOptions(
        max_hop=options.get("max_hop", 2), return_to_topic=bool(options.get("return_to_topic")), seed=request.seed
    )

    def mined(file: str) -> MinedFile:
        if is_mined(Path(file)):
            return sample_mined(read_mined(file), request.limit, request.seed)
        questions = request.questions(file)
        return mine_set(
            questions,
            request.folder,
            mining,
            request.settings,
            fresh=request.fresh,
            mining=request.bar(questions.name, "mining"),
            say=request.say,
        )

    train, dev = (list(map(mined, files)) for files in (request.train_files, request.dev_files))
    pairs = None
    if options.get("pairs"):
        apart = [(question.id, question.text) for each in dev for question in each.questions]
        apart += [
            (question.id, question.text)
            for file in options.get("leave_out", ())
            for question in request.read_questions(file).questions
        ]
        pairs = collect_relation_examples(list(map(request.read_questions, options["pairs"])), apart)
    return replace(inputs, train=train, dev=dev, beside=pairs, any_graph=bool(options.get("any_graph")))


def _read_subgraphs(config: Any, request: TrainingRequest, inputs: Inputs[Any]) -> Inputs[QuestionGraphs]:
    sets = list(map(request.questions, (*request.train_files, *request.dev_files)))
    graphs = [
        graph_set(
            questions,
            request.folder,
            config.subgraph,
            inputs.vectors_of(config.encoder),
            request.settings,
            fresh=request.fresh,
            reading=request.bar(questions.name, "reading"),
            say=request.say,
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
    def pool(file: str) -> Any:
        questions = request.questions(file)
        return pool_set(
            questions,
            request.folder,
            request.settings,
            fresh=request.fresh,
            mining=request.bar(questions.name, "mining"),
            say=request.say,
        )

    pools = list(map(pool, (*request.train_files, *request.dev_files)))
    pools = match_refined_pools(pools, request.options.get("supervision", (WEAK,)))
    train = len(request.train_files)
    return replace(
        inputs,
        train=pools[:train],
        dev=pools[train:],
        beside=read_relation_tokens(request.settings),
    )


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
            [collect_reader_training_set(each, engine, vectors, reads=config.reads, progress=progress) for each in some]
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
