"""A training of any model as a verb runs it: one at a time in a folder, by several processes, errors in one line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ...models.encoder import EncoderUnavailableError
from ...models.training.description import ModelDescription
from ...models.training.processes import process_group, wait_for_all
from ...models.training.state import TrainingStateError
from ...models.training.trainer import begin_anew
from ..errors import EncoderError, UsageError
from ..resolving import change, filled
from ..server.file_lock import locked
from ..whole_file import storing

Asked = tuple[str, frozenset[str]]
"""The words of a question in small letters, and its topics: two with the same are one question."""


class _Config(Protocol):
    def as_json(self) -> Mapping[str, Any]: ...


ConfigT = TypeVar("ConfigT", bound=_Config)


def changed(
    config: ConfigT, changes: Sequence[str], verb: str, *, epochs: int | None, seed: int, **named: object
) -> ConfigT:
    """Return a configuration with what the command line changes, `changes` last; `named` options where they are given.

    Raises `UsageError` for an option that there is not, and for a value out of its range.
    """
    data = json.loads(json.dumps(config.as_json()))
    data["training"]["seed"] = seed
    if epochs is not None:
        data["training"]["epochs"] = epochs
    data |= {name: value for name, value in named.items() if value}
    for said in changes:
        change(data, said, "training.epochs=5")
    return filled(type(config), data, verb)


@contextmanager
def training_in(folder: Path, kind: type[ModelDescription], *, fresh: bool) -> Iterator[bool]:
    """Keep other trainings out of a folder, which is made, and yield whether this process is the first of its group.

    `fresh`: begin anew there. Raises `UsageError` for a folder with another training and for a loss that is no number
    any more, `StorageError` for a folder that cannot be written, `EncoderError` for an encoder that is not there.
    """
    try:
        with (
            storing(folder),
            process_group() as is_first,
            _held(folder, kind, fresh=fresh) if is_first else nullcontext(),
        ):
            wait_for_all()  # nobody reads the folder before the first process has it
            yield is_first
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error
    except (TrainingStateError, FloatingPointError) as error:
        raise UsageError(str(error)) from error


def check_asked_apart(train_on: Iterable[Asked], choose_on: Iterable[tuple[str, Asked]]) -> None:
    """Raise `UsageError` where a question is both learned from and chosen on; those chosen on come with their ids."""
    learned = set(train_on)
    shared = [id_ for id_, asked in choose_on if asked in learned]
    if shared:
        raise UsageError(
            f"--dev: {len(shared):,} of its questions are in --dataset as well (the first is {shared[0]}): "
            "give questions that are not learned from"
        )


@contextmanager
def _held(folder: Path, kind: type[ModelDescription], *, fresh: bool) -> Iterator[None]:
    """Keep other trainings out of the folder, which is made; begin anew in it where that is asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    reason = f"--out {folder}: another training writes to it: wait until it is done, or name another folder"
    with locked(folder / ".lock", reason, refusal=UsageError(reason)):
        if fresh:
            begin_anew(folder, kind)
        yield
