"""Describe a kind of trained model by one value, and find kinds by their names.

A kind is a `ModelKind` in the module `kind.py` of its folder. Training, checkpoints, `lodestar train`, recipes and
`lodestar doctor` work from it. Name your own kind as ``module:KIND``, or by an entry point of the group
``lodestar.kinds``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from .description import BadCheckpointError, ModelDescription, QuestionKey, TrainingDataRecord, read_checkpoint_kind
from .objective import TrainingOptions

if TYPE_CHECKING:
    import torch

    from ..text.vectors import TextVectors
    from .checkpoint import Writer
    from .loop import TrainingResult
    from .objective import Objective

LearnsFrom = Literal["paths", "subgraphs", "pools", "readings"]
PATHS: LearnsFrom = "paths"
"""Paths that `lodestar mine` found: `models.star.mined.MinedFile`."""
SUBGRAPHS: LearnsFrom = "subgraphs"
"""Subgraphs around the topics of questions: `models.subgraphs.QuestionGraphs`."""
POOLS: LearnsFrom = "pools"
"""Candidate chains of questions: `models.mined.pool.Pool`."""
READINGS: LearnsFrom = "readings"
"""Candidates that the evidence of a recipe names: `models.reader.fitting.ReaderTrainingSet`."""


class LearningSet(Protocol):
    """A question set that a model is trained on, or its epoch is selected on."""

    @property
    def trained_on(self) -> TrainingDataRecord:
        """The training data's description in a checkpoint."""
        ...

    @property
    def sha256(self) -> str:
        """The hash of the data."""
        ...

    @property
    def question_keys(self) -> Sequence[QuestionKey]:
        """The questions, to hold dev out of train."""
        ...


class Config(Protocol):
    """A frozen dataclass: every option of a training with its default."""

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        ...


SetT = TypeVar("SetT", bound=LearningSet)
ConfigT = TypeVar("ConfigT", bound=Config)
DescriptionT = TypeVar("DescriptionT", bound=ModelDescription)
ModelT_co = TypeVar("ModelT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Inputs(Generic[SetT]):
    """The inputs of a training.

    device: the PyTorch device. vectors_of: the text vectors of an encoder, by its name. beside: further data of the
    source (see `engine/training/sources.py`). any_graph: the model is meant for unseen graphs, too.
    """

    train: Sequence[SetT]
    dev: Sequence[SetT]
    device: str
    vectors_of: Callable[[str], TextVectors]
    beside: Any = None
    any_graph: bool = False


@dataclass(frozen=True, slots=True)
class Phase:
    """The training of one network, after the phases before it.

    name: for display. part: the folder of its files. depends_on: what its weights depend on beside its options and the
    data. objective: called when the phase starts, with the seed set.
    """

    name: str
    part: str
    options: TrainingOptions
    depends_on: Mapping[str, Any]
    objective: Callable[[], Objective]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a training's phases.

    parts: writers of the checkpoint's parts. calibration: slope and intercept of a score's probability. fields: fields
    of the description that only the finished training knows. figures: of dev sets, of a training without phases.
    """

    parts: Mapping[str, Writer]
    calibration: tuple[float, float]
    fields: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Training:
    """A training of a kind, ready to run.

    identity: fields of the description that are known before, and tell this training from others. data: hashes of its
    data beside the sets. sources: counts of such data, for the model card.
    """

    phases: Sequence[Phase]
    outcome: Callable[[Mapping[str, TrainingResult]], Outcome]
    identity: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckpointOpenOptions:
    """What a checkpoint is opened with: a device, the type of its encoders' weights, and the vectors of its encoder.

    language_model: where the language model of a LoRA is, if it has moved since training.
    """

    device: str
    dtype: torch.dtype
    vectors_of: Callable[[ModelDescription], TextVectors]
    language_model: str = ""


@dataclass(frozen=True, slots=True)
class TrainCommandOption:
    """An option of `lodestar train KIND` beside the common ones.

    sets: the configuration key that takes its value; of a flag, the values that it sets.
    """

    flag: str
    help: str
    sets: str | Mapping[str, Any]
    type: type[str] | type[int] = str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelKind(Generic[ConfigT, DescriptionT, SetT, ModelT_co]):
    """A kind of trained model.

    name: of the kind, of `lodestar train NAME` and of the checkpoint's ``NAME.json``. title, about: of the model card.
    summary, examples: of the help text. learns_from: the data source. config: options and their defaults. presets:
    other defaults by name, for ``--preset``. train: phases and outcome of a training. open: opens a checkpoint's folder
    and returns its scorer. figures: names of dev figures, in display order. options: its own command-line options.
    epochs_of: trainings in the configuration that ``--epochs`` sets; empty for all.
    """

    name: str
    title: str
    summary: str
    learns_from: LearnsFrom
    config: type[ConfigT]
    description: type[DescriptionT]
    train: Callable[[ConfigT, Inputs[SetT]], Training]
    open: Callable[[Path, CheckpointOpenOptions], ModelT_co]
    about: Callable[[DescriptionT], Sequence[str]]
    figures: tuple[str, ...]
    examples: tuple[str, ...] = ()
    presets: Mapping[str, Callable[[], ConfigT]] = field(default_factory=dict)
    options: tuple[TrainCommandOption, ...] = ()
    epochs_of: tuple[str, ...] = ()

    @property
    def config_fields(self) -> tuple[str, ...]:
        """The names of the options of its configuration."""
        return tuple(each.name for each in fields(self.config))  # type: ignore[arg-type]

    @property
    def trainings(self) -> tuple[str, ...]:
        """The names of its `TrainingOptions`; empty for a kind that is fitted in one step, without a network."""
        defaults = {
            each.name: each.default if each.default_factory is MISSING else each.default_factory()
            for each in fields(self.config)  # type: ignore[arg-type]
        }
        return tuple(name for name, default in defaults.items() if isinstance(default, TrainingOptions))


AnyKind = ModelKind[Any, Any, Any, Any]

KINDS = {
    "star": (
        "lodestar.models.star.config:KIND",
        "Train STAR's path scorer: a dual encoder and a cross-attentive scorer.",
    ),
    "reg-triple": (
        "lodestar.models.reg_triple.kind:KIND",
        "Train ReG's triple scorer on the subgraphs of questions.",
    ),
    "reg-entity": (
        "lodestar.models.reg_entity.kind:KIND",
        "Train ReG's entity scorer on the subgraphs of questions.",
    ),
    "reg-path": ("lodestar.models.reg_path.kind:KIND", "Train a language model's LoRA to write relation paths."),
    "gril": (
        "lodestar.models.gril.kind:KIND",
        "Train GRIL's retriever, and with --reader the reader that answers from it.",
    ),
    "reader": ("lodestar.models.reader.kind:KIND", "Train the reader that chooses answers from a recipe's evidence."),
}
"""The place of each kind, and its line in the help of `lodestar train`. Modules are imported at first use."""

ENTRY_POINTS = "lodestar.kinds"

_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def list_installed_kinds() -> dict[str, str]:
    """Return the places of all kinds by name: Lodestar's and those of installed packages."""
    found = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}
    return {**found, **{name: place for name, (place, _) in KINDS.items()}}


def load_kind(name: str) -> AnyKind:
    """Return a kind by its name, or by ``module:KIND``; raise `LookupError` if there is none."""
    known = list_installed_kinds()
    place = known.get(name, name)
    if not _PLACE.fullmatch(place):
        raise LookupError(f"there is no kind {name!r}: expected one of {', '.join(sorted(known))}, or module:KIND")
    module, _, attribute = place.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise LookupError(f"kind {name}: {place} cannot be imported: {error}") from error
    if not isinstance(found, ModelKind):
        raise LookupError(f"kind {name}: expected a ModelKind at {place}, found {type(found).__name__}")
    return found


def find_checkpoint_kind(folder: Path, kinds: Sequence[AnyKind] = ()) -> AnyKind:
    """Return the kind of the checkpoint in a folder: one of `kinds`, or of all installed kinds.

    Raises `BadCheckpointError` if the folder has no such checkpoint.
    """
    by_name = {kind.name: kind for kind in kinds}
    name = read_checkpoint_kind(folder, by_name or list_installed_kinds())
    try:
        return by_name.get(name) or load_kind(name)
    except LookupError as error:
        raise BadCheckpointError(f"{folder}: {error}") from error
