"""Train a kind of model: resolve its configuration, read its sets from question sets and the graph, lock its folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models.kinds import ModelKind, TrainingOptions, decode_dataclass
from ..models.placement import Placement, PlacementError
from ..models.wording import normalise_question
from .errors import ModelError, UsageError, translate_import_errors
from .file_access import lock_file, translate_storage_errors
from .progress import Progress, show_progress_bar
from .settings import Settings, parse_assignment, set_nested_value

if TYPE_CHECKING:
    from ..models.training import TrainingFolder
    from .api import Engine
    from .gold_questions import QuestionSet

Sets = tuple[Sequence[Any], Sequence[Any]]
"""Training sets and dev sets."""


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A request for training.

    train_files, dev_files: question sets, or mined files. folder: of the checkpoint. read_questions: reads a question
    set. limit: most questions of each set. options: of the data source, by the names of its command-line options. say:
    receives messages.
    """

    train_files: Sequence[str]
    dev_files: Sequence[str]
    folder: Path
    settings: Settings
    read_questions: Callable[[str], QuestionSet]
    seed: int = 0
    limit: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _: None

    @property
    def device(self) -> str:
        """The PyTorch device of the settings. Raises `UsageError` if it does not exist."""
        try:
            return Placement(self.settings.device, self.settings.precision).torch_device
        except PlacementError as error:
            raise UsageError(f"device: {error}") from error

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.train_files, *self.dev_files)

    def questions(self, file: str) -> QuestionSet:
        """Return a question set, or a random sample of it if there is a limit."""
        questions = self.read_questions(file)
        sample = questions.sample(self.limit, self.seed)
        if len(sample) == len(questions.questions):
            return questions
        digest = hashlib.sha256(f"{questions.sha256}/{self.limit}/{self.seed}".encode())
        return replace(questions, questions=sample, sha256=digest.hexdigest())

    def split(self, sets: Sequence[Any]) -> Sets:
        """Return sets of all files, training files first, as training and dev sets."""
        number = len(self.train_files)
        return sets[:number], sets[number:]

    @contextmanager
    def open_graph(self, of: str, doing: str) -> Iterator[tuple[Engine, Progress]]:
        """Yield an engine over the graph, and the progress of what is done with a question set."""
        from .api import Engine

        with Engine(self.settings) as engine, show_progress_bar(of, doing) as (progress, _):
            yield engine, progress


def training_config(
    kind: ModelKind,
    changes: Sequence[str],
    *,
    epochs: int | None = None,
    precision: str = "auto",
    seed: int = 0,
) -> Any:
    """Return the configuration of a training: the kind's own, with changes.

    changes: ``KEY=VALUE``, applied last. precision: with ``auto`` the configuration decides. Raises `UsageError` for an
    unknown option or a value out of range.
    """
    data: dict[str, Any] = {}
    for each in fields(kind.config):
        value = each.default if each.default_factory is MISSING else each.default_factory()
        if isinstance(value, TrainingOptions):
            given = {"epochs": epochs, "precision": None if precision == "auto" else precision}
            value = replace(value, seed=seed, **{name: own for name, own in given.items() if own is not None})
        if value is not MISSING:
            data[each.name] = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    for text in changes:
        set_nested_value(data, *parse_assignment(text, "training.epochs=5"), f"--set {text}")
    try:
        return decode_dataclass(kind.config, json.dumps(data, default=str))
    except ValueError as error:
        raise UsageError(f"train {kind.name}: {error}") from error


@translate_import_errors("training")
def read_sets(
    kind: ModelKind, config: Any, request: TrainingRequest, *, any_graph: bool = False
) -> tuple[Sequence[Any], Sequence[Any], TrainingFolder]:
    """Return the sets that a kind is trained and selected on, and the folder with what `ModelKind.fit` needs beside.

    Raises `UsageError` for missing questions, `InputError` for files that cannot be read, `ModelError` for an encoder
    that cannot be loaded, and the errors of the database if the graph is needed.
    """
    from ..models.text.encoders import EncoderUnavailableError
    from ..models.training import TrainingFolder

    out = TrainingFolder(request.folder, request.device, request.settings.precision, any_graph=any_graph)
    with translate_storage_errors(request.folder):  # fail before the work, not after it
        request.folder.mkdir(parents=True, exist_ok=True)
    try:
        module, _, name = _SOURCES[kind.learns_from].partition(".")
        read: Callable[..., Sets] = getattr(import_module(f".supervision.{module}", __package__), name)
        return *read(request, config, out, **request.options), out
    except EncoderUnavailableError as error:
        raise ModelError(str(error)) from error


_SOURCES = {
    "paths": "mining.read_path_sets",
    "pools": "pools.read_pool_sets",
    "subgraphs": "subgraphs.read_subgraph_sets",
    "readings": "reader_candidates.read_candidate_sets",
}


@translate_import_errors("training")
def train_in_folder(kind: ModelKind, config: Any, train: Sequence[Any], dev: Sequence[Any], out: TrainingFolder) -> Any:
    """Train on the given sets, one training at a time in a folder, and return the description of the checkpoint.

    Raises `UsageError` if training set and dev share questions, nothing can be learned from them, the folder has
    another training, or the loss becomes NaN or infinite; `StorageError` if the folder cannot be written;
    `ModelError` if an encoder or a language model cannot be loaded.
    """
    from ..models.causal_lm import CausalLMError
    from ..models.text.encoders import EncoderUnavailableError
    from ..models.training import NothingToLearnError, TrainingStateError

    check_disjoint_sets(train, dev)
    reason = f"--out {out.folder}: another training writes to it: wait until it is done, or name another folder"
    try:
        with translate_storage_errors(out.folder):
            out.folder.mkdir(parents=True, exist_ok=True)
            with lock_file(out.folder / ".lock", reason, refusal=UsageError(reason)):
                return out.fit(kind, config, train, dev)
    except (EncoderUnavailableError, CausalLMError) as error:
        raise ModelError(str(error)) from error
    except (NothingToLearnError, TrainingStateError, FloatingPointError) as error:
        raise UsageError(str(error)) from error


def check_disjoint_sets(train: Iterable[Any], dev: Iterable[Any]) -> None:
    """Raise `UsageError` if training set and dev share a question, by words and topics."""
    learned = {(normalise_question(text), topics) for each in train for _, text, topics in each.question_keys}
    keys = (key for each in dev for key in each.question_keys)
    shared = [id_ for id_, text, topics in keys if (normalise_question(text), topics) in learned]
    if shared:
        raise UsageError(
            f"--dev: {len(shared):,} of its questions are in --dataset as well (the first is {shared[0]}): "
            "give other questions"
        )
