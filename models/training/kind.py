"""Describe a kind of trained model by one value, and find kinds by their names.

A kind is a `ModelKind` in the module `kind.py` of its folder. Training, checkpoints, `lodestar train`, recipes and
`lodestar doctor` work from it. A kind of your own is named as ``module:KIND``, or by an entry point of the group
``lodestar.kinds``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from .description import CheckpointError, ModelDescription, QuestionKey, TrainedOn, kind_of

if TYPE_CHECKING:
    import torch

    from ..text_vectors import TextVectors
    from .checkpoint import Writer
    from .loop import Trained
    from .objective import Objective
    from .options import TrainingOptions

LearnsFrom = Literal["paths", "subgraphs", "pools", "links", "readings"]
PATHS: LearnsFrom = "paths"
"""Paths that `lodestar mine` found: `models.star.mined.Mined`."""
SUBGRAPHS: LearnsFrom = "subgraphs"
"""Subgraphs around the topics of questions: `models.subgraphs.QuestionGraphs`."""
POOLS: LearnsFrom = "pools"
"""Candidate chains of questions: `models.mined.pool.Pool`."""
LINKS: LearnsFrom = "links"
"""Entities that the words of questions may name: `models.linking.candidates.LinkedCandidates`."""
READINGS: LearnsFrom = "readings"
"""Candidates that the evidence of a recipe names: `models.reader.fitting.Readings`."""


class LearningSet(Protocol):
    """What a model learns from, or its epoch is selected on: one question set."""

    @property
    def trained_on(self) -> TrainedOn:
        """What a checkpoint says of the set."""
        ...

    @property
    def sha256(self) -> str:
        """The hash of the data."""
        ...

    @property
    def question_keys(self) -> Sequence[QuestionKey]:
        """The questions, to hold train and dev apart."""
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
    """What a training is given.

    device: the PyTorch device. vectors_of: the text vectors of an encoder, by its name. beside: what the data source
    knows beside the sets (see `engine/training/sources.py`). any_graph: the model is meant for unseen graphs, too.
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

    name: as it is shown. part: the folder of its files. depends_on: what its weights depend on beside its options and
    the data. objective: called when its turn comes, with the seed set.
    """

    name: str
    part: str
    options: TrainingOptions
    depends_on: Mapping[str, Any]
    objective: Callable[[], Objective]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the phases of a training led to.

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

    identity: fields of the description that are known before, and tell this training from others. data: hashes of what
    it learns from beside the sets. sources: counts of such data, for the model card.
    """

    phases: Sequence[Phase]
    outcome: Callable[[Mapping[str, Trained]], Outcome]
    identity: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opening:
    """What a checkpoint is opened with: a device, the type of its encoders' weights, the vectors of the encoder of one.

    language_model: where the language model of a LoRA is, if not where it was trained.
    """

    device: str
    dtype: torch.dtype
    vectors_of: Callable[[ModelDescription], TextVectors]
    language_model: str = ""


@dataclass(frozen=True, slots=True)
class TrainingOption:
    """An option of `lodestar train KIND` beside those that every kind has.

    sets: the key of the configuration that takes its value, or, of a flag, the values that it sets.
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
    other defaults by name, for ``--preset``. train: phases and outcome of a training. open: a checkpoint's folder, to
    what scores. figures: names of dev figures, in the order they are shown. options: command-line options of its own.
    with_option: kinds that another option of the command line selects instead. from_graph: what questions that were
    made from the graph change in the configuration. epochs_of: trainings in the configuration that ``--epochs`` sets;
    empty for all.
    """

    name: str
    title: str
    summary: str
    learns_from: LearnsFrom
    config: type[ConfigT]
    description: type[DescriptionT]
    train: Callable[[ConfigT, Inputs[SetT]], Training]
    open: Callable[[Path, Opening], ModelT_co]
    about: Callable[[DescriptionT], Sequence[str]]
    figures: tuple[str, ...]
    examples: tuple[str, ...] = ()
    presets: Mapping[str, Callable[[], ConfigT]] = field(default_factory=dict)
    options: tuple[TrainingOption, ...] = ()
    with_option: Mapping[str, str] = field(default_factory=dict)
    from_graph: Mapping[str, Any] = field(default_factory=dict)
    epochs_of: tuple[str, ...] = ()

    @property
    def config_fields(self) -> tuple[str, ...]:
        """The names of the options of its configuration."""
        return tuple(each.name for each in fields(self.config))  # type: ignore[arg-type]


AnyKind = ModelKind[Any, Any, Any, Any]

KINDS = {
    "star": (
        "lodestar.models.star.kind:KIND",
        "Train STAR's path scorer: a dual encoder and a cross-attentive scorer.",
    ),
    "reg-triple": ("lodestar.models.reg.kind:KIND", "Train ReG's scorer of triples on the subgraphs of questions."),
    "reg-entity": (
        "lodestar.models.reg.entities.kind:KIND",
        "Train ReG's scorer of entities on the subgraphs of questions.",
    ),
    "reg-path": ("lodestar.models.reg.paths.kind:KIND", "Train ReG's decoder of relation paths on candidate pools."),
    "reg-path-lm": ("lodestar.models.reg.plans.kind:KIND", "Train a language model's LoRA to write relation paths."),
    "gril": ("lodestar.models.gril.kind:KIND", "Train GRIL's retriever, and with --reader what answers from it."),
    "linker": ("lodestar.models.linking.kind:KIND", "Train how likely a question is about what its words may mean."),
    "reader": ("lodestar.models.reader.kind:KIND", "Train what chooses answers from the evidence of a recipe."),
}
"""Where each kind is, and what `lodestar train` says of it. The modules are imported when they are used."""

ENTRY_POINTS = "lodestar.kinds"

_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def installed_kinds() -> dict[str, str]:
    """Return the places of all kinds by name: Lodestar's and those of installed packages."""
    found = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}
    return {**found, **{name: place for name, (place, _) in KINDS.items()}}


def load_kind(name: str) -> AnyKind:
    """Return a kind by its name, or by ``module:KIND``; raise `LookupError` where there is none."""
    known = installed_kinds()
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


def kind_in(folder: Path, kinds: Sequence[AnyKind] = ()) -> AnyKind:
    """Return the kind of the checkpoint in a folder: one of `kinds`, or of all that are installed.

    Raises `CheckpointError` where the folder has no checkpoint of these.
    """
    by_name = {kind.name: kind for kind in kinds}
    name = kind_of(folder, by_name or installed_kinds())
    try:
        return by_name.get(name) or load_kind(name)
    except LookupError as error:
        raise CheckpointError(f"{folder}: {error}") from error
