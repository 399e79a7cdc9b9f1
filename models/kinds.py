"""Kinds of trained models: what each is trained with, where it is found by its name; read and write its checkpoints.

Name your own kind as ``module:KIND``, or by an entry point of the group ``lodestar.kinds``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, field
from dataclasses import dataclass as plain_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import FiniteFloat, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from . import Positive, Range, Share, one_line
from .atomic_files import compute_file_sha256, translate_safetensors_errors
from .placement import count_call

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

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
        raise ValueError(format_first_error(error)) from error
    return found


def format_first_error(error: ValidationError) -> str:
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
    over the share `warmup` of all steps and then fall linearly to zero. patience: epochs without a better dev figure
    before stopping.
    """

    epochs: Positive = 4
    learning_rate: Share = 7e-5
    head_learning_rate: Share = 1e-3
    warmup: Annotated[float, Range(0, 0.9)] = 0.1
    weight_decay: Share = 0.01
    max_norm: Annotated[float, Range(1e-6)] = 1.0
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
"""The sets that a kind is trained on: `mined_files.MinedFile`, `subgraphs.QuestionGraphs`, `mined_files.PoolFile` or
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


def map_kind_places_by_name() -> dict[str, str]:
    """Return the places of all kinds by name: Lodestar's and those of installed packages."""
    return {**{entry.name: entry.value for entry in entry_points(group="lodestar.kinds")}, **KINDS}


def load_kind(name: str) -> ModelKind:
    """Return a kind by its name, or by ``module:KIND``; raise `LookupError` if there is none."""
    known = map_kind_places_by_name()
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


# Checkpoints: KIND.json (configuration, training data, figures, SHA-256 of each file of its parts), README.md (a model
# card), and PART/, the files of a network, model.safetensors among them. No pickle is ever read or written.

FORMAT = 4
CARD = "README.md"
WEIGHTS = "model.safetensors"
DRAFT = ".checkpoint.new"

DescriptionT = TypeVar("DescriptionT", bound=ModelDescription)
NetworkT = TypeVar("NetworkT", bound="nn.Module")
Writer = Callable[[Path], None]
"""Writes the files of a part into its folder."""


class BadCheckpointError(Exception):
    """A checkpoint is missing, damaged, or unfit for its use; the message says what to do."""


def find_checkpoint_kind(folder: Path, kinds: Sequence[ModelKind] = ()) -> ModelKind:
    """Return the kind of the checkpoint in a folder: one of `kinds`, or of all installed kinds.

    Raises `BadCheckpointError` if the folder has no such checkpoint.
    """
    by_name = {kind.name: kind for kind in kinds}
    try:
        for name in by_name or map_kind_places_by_name():
            if (folder / f"{name}.json").exists():
                return by_name.get(name) or load_kind(name)
    except OSError as error:
        raise BadCheckpointError(f"{folder}: the checkpoint cannot be read: {error.strerror}") from error
    except LookupError as error:
        raise BadCheckpointError(f"{folder}: {error}") from error
    raise _missing(folder, by_name or map_kind_places_by_name())


def load_description(folder: Path, kind: type[DescriptionT]) -> tuple[DescriptionT, dict[str, str]]:
    """Return a checkpoint's description, and the hash of each file of its parts.

    Raises `BadCheckpointError` if it is missing or damaged.
    """
    path = folder / f"{kind.kind}.json"
    try:
        fields = json.loads(path.read_bytes())
        found = [one_line(repr(fields.pop(name, None)), 40) for name in ("format", "kind")]
        if found != [str(FORMAT), repr(kind.kind)]:
            raise BadCheckpointError(
                f"{path}: expected format {FORMAT} and kind {kind.kind}, found {' and '.join(found)}: train the "
                "checkpoint again, or update Lodestar"
            )
        files = decode_dataclass(dict[str, str], json.dumps(fields.pop("files", None)))
        for name in files:
            place = PurePosixPath(name)
            if len(place.parts) < 2 or place.parts[0] not in kind.parts or ".." in place.parts:
                raise ValueError(f"{one_line(repr(name), 80)} is not a file of a part")
        return decode_dataclass(kind, json.dumps(fields, allow_nan=False)), files
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(folder, [kind.kind]) from None
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadCheckpointError(f"{path}: damaged: {one_line(error)}: train or fetch the checkpoint again") from error


def _missing(folder: Path, kinds: Collection[str]) -> BadCheckpointError:
    return BadCheckpointError(
        f"{folder}: expected a checkpoint with {' or '.join(f'{kind}.json' for kind in kinds)}, found none: name the "
        f"folder that `lodestar train {'|'.join(kinds)}` wrote to"
    )


def check_checkpoint(folder: Path, kind: type[DescriptionT]) -> DescriptionT:
    """Return a checkpoint's description after checking every file's hash; the weights of its networks must be there.

    Raises `BadCheckpointError` for a missing, damaged or unreadable file.
    """
    description, hashes = load_description(folder, kind)
    for name in sorted({*hashes, *(f"{part}/{WEIGHTS}" for part in description.networks)}):
        path = folder / name
        with translate_read_errors(path):
            if not path.is_file() or compute_file_sha256(path) != hashes.get(name):
                raise BadCheckpointError(
                    f"{path}: missing, or not the file that was written: train or fetch the checkpoint again"
                )
    return description


@contextmanager
def translate_read_errors(path: Path) -> Iterator[None]:
    """Raise `BadCheckpointError` for any error in the block, which reads files of a checkpoint."""
    try:
        yield
    except BadCheckpointError:
        raise
    except Exception as error:
        raise BadCheckpointError(
            f"{path}: the checkpoint cannot be read ({one_line(error)}): train or fetch it again"
        ) from error


def write_checkpoint(folder: Path, description: ModelDescription, parts: Mapping[str, Writer], card: str) -> None:
    """Write a checkpoint atomically in place of the one before: its description, its parts, its card.

    Raises `OSError` if it cannot be written, `ValueError` for a description with NaN or infinity.
    """
    draft = folder / DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        for name, writer in parts.items():
            (draft / name).mkdir()
            with translate_safetensors_errors():
                writer(draft / name)
        written = sorted(path for path in draft.rglob("*") if path.is_file())
        hashes = {path.relative_to(draft).as_posix(): compute_file_sha256(path) for path in written}
        fields = {"format": FORMAT, "kind": description.kind, **asdict(description), "files": hashes}
        name = f"{description.kind}.json"
        text = json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False)
        (draft / name).write_text(text + "\n", encoding="utf-8")
        (draft / CARD).write_text(card, encoding="utf-8")
        (folder / name).unlink(missing_ok=True)  # from here until the last rename there is no checkpoint
        for part in description.parts:
            shutil.rmtree(folder / part, ignore_errors=True)
        for path in sorted(draft.iterdir(), key=lambda path: path.name == name):
            path.replace(folder / path.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_weights(weights: Mapping[str, Tensor], part: Path) -> None:
    """Write a network's weights into the folder of its part, or raise `OSError`."""
    from safetensors.torch import save_file

    tensors = {name: each.detach().cpu().contiguous() for name, each in weights.items()}
    with translate_safetensors_errors():
        save_file(tensors, part / WEIGHTS, {"format": "pt"})


def load_network(network: NetworkT, part: Path, device: str | torch.device = "cpu") -> NetworkT:
    """Return a network with the weights of its part, ready to score on a device.

    Raises `BadCheckpointError` if they cannot be read.
    """
    with translate_read_errors(part):
        network.load_state_dict(read_weights(part))
    network.register_forward_pre_hook(lambda *_: count_call("batches"))
    return network.eval().to(device)


def read_weights(part: Path) -> dict[str, Tensor]:
    """Return the weights in the folder of a part; raise `ValueError` for a weight that is not finite."""
    from safetensors.torch import load_file

    weights = load_file(part / WEIGHTS)
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise ValueError(f"{name} has a weight that is not finite")
    return weights


def restore_weights(weights: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> None:
    """Copy saved weights into those of a network; raise `ValueError` if they belong to another network."""
    import torch

    if {name: each.shape for name, each in weights.items()} != {name: each.shape for name, each in saved.items()}:
        raise ValueError("the weights belong to another network")
    with torch.no_grad():
        for name, tensor in weights.items():
            tensor.copy_(saved[name])
