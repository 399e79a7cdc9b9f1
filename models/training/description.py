"""Describe a checkpoint: its kind, its data and its options."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from ..message_text import one_line
from ..ranges import Range

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
