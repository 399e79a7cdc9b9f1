"""Describe a kind of trained model by one value, its checkpoints and its training, and find kinds by their names.

A kind is a `ModelKind` in its folder. Training, checkpoints, `lodestar train`, recipes and `lodestar doctor` work from
it. Name your own kind as ``module:KIND``, or by an entry point of the group ``lodestar.kinds``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, Protocol, TypeVar

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from ..message_text import one_line
from ..ranges import Positive, Range, Ranged, Share

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from ..text.vectors import TextVectors
    from .checkpoint import Writer
    from .trainer import TrainingResult


T = TypeVar("T")


def decode_dataclass(kind: type[T], text: str | bytes) -> T:
    """Return the dataclass that a JSON text describes; raise `ValueError` for the first field that is missing, unknown,
    of another type or out of range.
    """
    try:
        found: T = _adapter(kind).validate_json(text, strict=True, extra="forbid")  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        place = one_line(".".join(map(str, first["loc"])), 80)
        message = f"{first['msg'][:1].lower()}{first['msg'][1:]}, found {one_line(repr(first['input']), 80)}"
        raise ValueError(one_line(f"{place}: {message}".removeprefix(": "))) from error
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


FORMAT = 2

QuestionKey = tuple[str, str, frozenset[str]]
"""Id, text and topics of a question."""

Coefficient = Annotated[float, Range(-1e9, 1e9)]


class BadCheckpointError(Exception):
    """A checkpoint is missing, damaged, or unfit for its use; the message says what to do."""


@dataclass(frozen=True, slots=True)
class TrainingDataRecord:
    """A file that a checkpoint was trained or selected on: the question set, its hash, the graph."""

    questions: str
    questions_sha256: str
    mined_sha256: str
    graph: str
    num_questions: int
    max_hop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDescription:
    """The description of a checkpoint of any kind, beside its files' hashes; `parts` are the folders of its networks.

    `calibration`: slope and intercept of a score's probability, see `calibration`. `figures`: on the dev questions, by
    phase. `revision`: of the code that trained it. `any_graph`: it is meant for unseen graphs, too. `encoder`: name of
    its text encoder, empty if it reads no texts; `encoder_digest` tells its weights from others of that name, and is
    empty if unknown.
    """

    kind: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]

    calibration: tuple[Coefficient, Coefficient]
    config: Mapping[str, Any]
    train: tuple[TrainingDataRecord, ...]
    dev: tuple[TrainingDataRecord, ...]
    figures: Mapping[str, Mapping[str, FiniteFloat]]
    seconds: Mapping[str, FiniteFloat] = field(default_factory=dict)
    revision: str = ""
    any_graph: bool = False
    encoder: str = ""
    encoder_digest: str = ""

    @property
    def graphs(self) -> frozenset[str]:
        """Fingerprints of the graphs it was trained on."""
        return frozenset(each.graph for each in self.train)


DescriptionT = TypeVar("DescriptionT", bound=ModelDescription)


def read_checkpoint_kind(folder: Path, kinds: Collection[str]) -> str:
    """Return the kind of the checkpoint in a folder; raise `BadCheckpointError` if there is none."""
    try:
        for kind in kinds:
            if (folder / f"{kind}.json").exists():
                return kind
    except OSError as error:
        raise BadCheckpointError(f"{folder}: the checkpoint cannot be read: {error.strerror}") from error
    raise _missing(folder, kinds)


def load_description(folder: Path, kind: type[DescriptionT]) -> tuple[DescriptionT, dict[str, str]]:
    """Return a checkpoint's description, and the hash of each file of its parts.

    Raises `BadCheckpointError` if it is missing or damaged.
    """
    path = folder / f"{kind.kind}.json"
    again = "train or fetch the checkpoint again"
    try:
        fields = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(folder, [kind.kind]) from None
    except (OSError, ValueError, RecursionError) as error:
        raise BadCheckpointError(f"{path}: the checkpoint cannot be read ({one_line(error)}): {again}") from error
    if not isinstance(fields, dict):
        raise BadCheckpointError(f"{path}: damaged: expected an object: {again}")
    form = fields.pop("format", None)
    named = fields.pop("kind", None)
    if form != FORMAT or named != kind.kind:
        found = f"{one_line(repr(form), 40)} and {one_line(repr(named), 40)}"
        raise BadCheckpointError(
            f"{path}: expected format {FORMAT} and kind {kind.kind}, found {found}: train the checkpoint again, or "
            "update Lodestar"
        )
    try:
        files = decode_dataclass(dict[str, str], json.dumps(fields.pop("files", None)))
        for name in files:
            place = PurePosixPath(name)
            if len(place.parts) < 2 or place.parts[0] not in kind.parts or ".." in place.parts:
                raise ValueError(f"{one_line(repr(name), 80)} is not a file of a part")
        return decode_dataclass(kind, json.dumps(fields, allow_nan=False)), files
    except (ValueError, RecursionError) as error:
        raise BadCheckpointError(f"{path}: damaged: {one_line(error)}: {again}") from error


def _missing(folder: Path, kinds: Collection[str]) -> BadCheckpointError:
    return BadCheckpointError(
        f"{folder}: expected a checkpoint with {' or '.join(f'{kind}.json' for kind in kinds)}, found none: name the "
        f"folder that `lodestar train {'|'.join(kinds)}` wrote to"
    )


Precision = Literal["fp32", "bf16", "fp16"]

_DTYPES = {"bf16": "bfloat16", "fp16": "float16"}


@dataclass(frozen=True, slots=True)
class TrainingOptions(Ranged):
    """How to train. learning_rate: of pretrained parameters, an encoder's; head_learning_rate: of new ones. Both rise
    over the share `warmup` of all steps and then fall linearly to zero. accumulate: batches per step. patience: epochs
    without a better dev figure before stopping. save_every_s: seconds between saved states.
    """

    epochs: Positive = 4
    learning_rate: Share = 7e-5
    head_learning_rate: Share = 1e-3
    warmup: Annotated[float, Range(0, 0.9)] = 0.1
    weight_decay: Share = 0.01
    max_norm: Annotated[float, Range(1e-6)] = 1.0
    accumulate: Positive = 1
    patience: Positive = 2
    precision: Precision = "fp32"
    compile: bool = False
    seed: int = 0
    save_every_s: float = 60.0

    @property
    def dtype(self) -> torch.dtype | None:
        """The autocast type; None for the type of the network's weights."""
        import torch

        return getattr(torch, _DTYPES[self.precision]) if self.precision in _DTYPES else None

    def as_json(self) -> dict[str, Any]:
        """Return the options that the weights depend on, as plain data."""
        values = Ranged.as_json(self)
        del values["save_every_s"]
        return values


ALL_LINEAR = "all-linear"


@dataclass(frozen=True, slots=True)
class LoraOptions(Ranged):
    """rank: of a factor. alpha: the product is scaled by alpha / rank. dropout: on the input of the factors. targets:
    the layers with factors: all linear ones but the output, or a regular expression of their names.
    """

    rank: Annotated[int, Range(1, 4_096)] = 8
    alpha: Annotated[int, Range(1, 65_536)] = 16
    dropout: Annotated[float, Range(0, 0.9)] = 0.05
    targets: str = ALL_LINEAR


Figures = Mapping[str, float]


class NothingToLearnError(Exception):
    """A set has no question to train or select on; the message says which."""


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """Parameters with a common peak learning rate."""

    parameters: Sequence[Tensor]
    learning_rate: float


class Objective(Protocol):
    """A network with its training batches. A batch depends only on the seed, the epoch, the step and `state`, so that
    training can resume anywhere.
    """

    @property
    def network(self) -> nn.Module:
        """The network in training."""
        ...

    def groups(self) -> Sequence[ParameterGroup]:
        """Return the trainable parameters, in the same order each time."""
        ...

    def get_weights(self) -> Mapping[str, Tensor]:
        """Return the trained weights, not copies, for states and checkpoints."""
        ...

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch."""
        ...

    def begin(self, epoch: int) -> None:
        """Prepare an epoch with the current network."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Return what `begin` computed from the network, so that an epoch can resume midway."""
        ...

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Prepare an epoch from a stored state, as `begin` did."""
        ...

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of the epoch, a scalar.

        `network` is the objective's own, perhaps wrapped; `shard` is (rank, number of ranks): the part to take.
        """
        ...

    def evaluate(self) -> Figures:
        """Return the figures on the dev examples; the epoch with the highest ``selection_metric`` is kept."""
        ...


def encoder_and_heads(network: nn.Module, options: TrainingOptions) -> list[ParameterGroup]:
    """Return the parameters of a network's `encoder`, and all others, each with its learning rate."""
    inside = {id(parameter) for parameter in network.get_submodule("encoder").parameters()}
    parts = [[p for p in network.parameters() if (id(p) in inside) is within] for within in (True, False)]
    rates = (options.learning_rate, options.head_learning_rate)
    return [ParameterGroup(part, rate) for part, rate in zip(parts, rates, strict=True)]


def select_trained_weights(network: nn.Module) -> dict[str, Tensor]:
    """Return a network's weights except frozen ones: of a LoRA only its factors."""
    frozen = {name for name, parameter in network.named_parameters() if not parameter.requires_grad}
    return {name: tensor for name, tensor in network.state_dict().items() if name not in frozen}


LearnsFrom = Literal["paths", "subgraphs", "pools", "readings"]
PATHS: LearnsFrom = "paths"
"""Paths that `lodestar mine` found: `models.star.mined.MinedFile`."""
SUBGRAPHS: LearnsFrom = "subgraphs"
"""Subgraphs around the topics of questions: `models.subgraphs.QuestionGraphs`."""
POOLS: LearnsFrom = "pools"
"""Candidate chains of questions: `models.mined.PoolFile`."""
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

    identity: fields of the description that are known before, and tell this training from others.
    """

    phases: Sequence[Phase]
    outcome: Callable[[Mapping[str, TrainingResult]], Outcome]
    identity: Mapping[str, Any] = field(default_factory=dict)


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
    "reader": (
        "lodestar.models.reader.fitting:KIND",
        "Train the reader that chooses answers from a recipe's evidence.",
    ),
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
