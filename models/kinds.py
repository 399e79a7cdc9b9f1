"""Kinds of trained models: what each is trained with, what its checkpoint says, and where it is found by its name.

Name your own kind as ``module:KIND``, or by an entry point of the group ``lodestar.kinds``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import FiniteFloat, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from . import Positive, Range, Share, one_line

if TYPE_CHECKING:
    import torch

    from .text.vectors import TextVectors
    from .training import TrainingFolder

T = TypeVar("T")


def decode_dataclass(kind: type[T], text: str | bytes) -> T:
    """Return the dataclass that a JSON text describes; raise `ValueError` for the first field that is missing, unknown,
    of another type or out of range.
    """
    try:
        found: T = _adapter(kind).validate_json(text, strict=True, extra="forbid")  # type: ignore[arg-type]
    except ValidationError as error:
        raise ValueError(first_error(error)) from error
    return found


def first_error(error: ValidationError) -> str:
    """Return the first error of pydantic in one line."""
    first = error.errors()[0]
    place = one_line(".".join(map(str, first["loc"])), 80)
    message = f"{first['msg'][:1].lower()}{first['msg'][1:]}, found {one_line(repr(first['input']), 80)}"
    return one_line(f"{place}: {message}".removeprefix(": "))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


QuestionKey = tuple[str, str, frozenset[str]]
"""Id, text and topics of a question."""
Coefficient = Annotated[float, Range(-1e9, 1e9)]
Precision = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How to train. learning_rate: of pretrained parameters, an encoder's; head_learning_rate: of new ones. Both rise
    over the share `warmup` of all steps and then fall linearly to zero. accumulate: batches per step. patience: epochs
    without a better dev figure before stopping.
    """

    epochs: Positive = 4
    learning_rate: Share = 7e-5
    head_learning_rate: Share = 1e-3
    warmup: Annotated[float, Range(0, 0.9)] = 0.1
    weight_decay: Share = 0.01
    max_norm: Annotated[float, Range(1e-6)] = 1.0
    accumulate: Positive = 1
    patience: Positive = 2
    precision: Precision = "float32"
    seed: int = 0

    @property
    def dtype(self) -> torch.dtype | None:
        """The autocast type; None for the type of the network's weights."""
        import torch

        return None if self.precision == "float32" else getattr(torch, self.precision)


@dataclass(frozen=True, slots=True)
class LoraOptions:
    """rank: of a factor. alpha: the product is scaled by alpha / rank. dropout: on the input of the factors. targets:
    the layers with factors: all linear ones but the output, or a regular expression of their names.
    """

    rank: Annotated[int, Range(1, 4_096)] = 8
    alpha: Annotated[int, Range(1, 65_536)] = 16
    dropout: Annotated[float, Range(0, 0.9)] = 0.05
    targets: str = "all-linear"


@dataclass(frozen=True, slots=True)
class TrainingDataRecord:
    """A file that a checkpoint was trained or selected on: the question set, its hash, the graph."""

    questions: str
    questions_sha256: str
    graph: str
    num_questions: int
    max_hop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDescription:
    """What ``KIND.json`` says of a checkpoint, beside its files' hashes. A kind's own has the class of its `config`.

    kind: its name. parts: the folders of its networks. calibration: slope and intercept of a score's probability.
    figures: on the dev questions, by phase. any_graph: it is meant for unseen
    graphs, too. encoder_digest: tells the weights of its text encoder from others of that name; empty if unknown.
    """

    kind: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]

    config: Any
    train: tuple[TrainingDataRecord, ...]
    dev: tuple[TrainingDataRecord, ...]
    calibration: tuple[Coefficient, Coefficient]
    figures: Mapping[str, Mapping[str, FiniteFloat]]
    seconds: Mapping[str, FiniteFloat] = field(default_factory=dict)
    any_graph: bool = False
    encoder_digest: str = ""

    @property
    def encoder(self) -> str:
        return getattr(self.config, "encoder", "")

    @property
    def networks(self) -> tuple[str, ...]:
        return self.parts

    @property
    def graphs(self) -> frozenset[str]:
        return frozenset(each.graph for each in self.train)


LearnsFrom = Literal["paths", "subgraphs", "pools", "readings"]
"""The sets that a kind is trained on: `mined.MinedFile`, `subgraphs.QuestionGraphs`, `mined.PoolFile` or
`reader.fitting.ReaderTrainingSet`. All have `trained_on`, `sha256` and `question_keys`."""


@plain_dataclass(frozen=True, slots=True)
class CheckpointOpenOptions:
    """What a checkpoint is opened with: a device, the type of its encoders' weights, and the vectors of its encoder.

    language_model: where the language model of a LoRA is, if it has moved since training.
    """

    device: str
    dtype: torch.dtype
    vectors_of: Callable[[ModelDescription], TextVectors]
    language_model: str = ""


@plain_dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """A kind of trained model.

    title, about: of the model card. config: a pydantic dataclass of all options and their defaults. code: the module
    with `fit`, which trains from config, training sets, dev sets and folder, writes the checkpoint and returns its
    description, and `open_model`, which returns the scorer of a checkpoint's folder; it is imported at first use.
    figures: names of dev figures, in display order.
    """

    title: str
    learns_from: LearnsFrom
    config: type[Any]
    description: type[ModelDescription]
    code: str
    about: str
    figures: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.description.kind

    def fit(self, config: Any, train: Sequence[Any], dev: Sequence[Any], out: TrainingFolder) -> Any:
        return import_module(self.code).fit(config, train, dev, out)

    def open(self, folder: Path, opening: CheckpointOpenOptions) -> Any:
        """Return the scorer of a checkpoint; raise `BadCheckpointError` if it is damaged."""
        return import_module(self.code).open_model(folder, opening)


KINDS = {
    "star": "lodestar.models.star:KIND",
    "reg-triple": "lodestar.models.reg:TRIPLE",
    "reg-entity": "lodestar.models.reg:ENTITY",
    "reg-path": "lodestar.models.reg:PATH",
    "gril": "lodestar.models.gril:KIND",
    "reader": "lodestar.models.reader.fitting:KIND",
}
_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def list_installed_kinds() -> dict[str, str]:
    """Return the places of all kinds by name: Lodestar's and those of installed packages."""
    return {**{entry.name: entry.value for entry in entry_points(group="lodestar.kinds")}, **KINDS}


def load_kind(name: str) -> ModelKind:
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
