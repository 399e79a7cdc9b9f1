"""Train a model of any kind: build its configuration, lock its folder, and run one or more processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from ...models.language.causal_lm import CausalLMError
from ...models.text.encoders import EncoderUnavailableError
from ...models.training.checkpoint import TrainingStateError
from ...models.training.kind import AnyKind, Inputs, LearningSet, ModelDescription, NothingToLearnError
from ...models.training.trainer import (
    TrainingCallbacks,
    delete_training,
    process_group,
    train_model,
    wait_for_all_processes,
)
from ...models.words import normalise_question
from ..errors import EncoderError, UsageError
from ..extras import translate_import_errors
from ..machine import code_sha256
from ..settings import fill_dataclass, set_nested_value, set_option
from ..whole_file import lock_file, translate_storage_errors
from .sources import TrainingRequest, read_inputs

Watching = Callable[[], AbstractContextManager[TrainingCallbacks | None]]

PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
"""The training's precision by that of the settings; with ``auto`` the configuration decides."""


def training_config(
    kind: AnyKind,
    changes: Sequence[str],
    *,
    preset: str = "",
    values: Mapping[str, Any] | None = None,
    epochs: int | None = None,
    precision: str | None = None,
    seed: int = 0,
) -> Any:
    """Return the configuration of a training: the kind's own or a `preset`, with changes.

    values: from command-line options, by key. changes: ``KEY=VALUE``, applied last. precision: fp32, bf16 or fp16.
    Raises `UsageError` for an unknown option or a value out of range.
    """
    default = kind.presets[preset]() if preset else kind.config
    data = _plain_defaults(default)
    for name in kind.trainings:
        data[name]["seed"] = seed
        if epochs is not None and name in (kind.epochs_of or data):
            data[name]["epochs"] = epochs
        if precision is not None:
            data[name]["precision"] = precision
    for key, value in (values or {}).items():
        set_nested_value(data, key, value, f"train {kind.name}")
    for text in changes:
        set_option(data, text, "training.epochs=5")
    return fill_dataclass(type(default) if preset else kind.config, data, f"train {kind.name}")


def train_kind(
    kind: AnyKind, config: Any, request: TrainingRequest, watching: Watching = nullcontext
) -> ModelDescription:
    """Train a model of a kind, or continue its training, and return the description of its checkpoint.

    Raises the errors of `read_inputs` and `train_in_folder`.
    """
    try:
        inputs = read_inputs(kind, config, request)
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error
    return train_in_folder(kind, config, inputs, request.folder, fresh=request.fresh, watching=watching)


@translate_import_errors("training")
def train_in_folder(
    kind: AnyKind,
    config: Any,
    inputs: Inputs[Any],
    folder: Path,
    *,
    fresh: bool = False,
    watching: Watching = nullcontext,
) -> ModelDescription:
    """Train on the given inputs, one training at a time in a folder, and return the description of the checkpoint.

    Raises `UsageError` if training set and dev share questions or nothing can be learned from them, `EncoderError` if
    an encoder or a language model cannot be loaded, and the errors of `open_training_folder`.
    """
    check_disjoint_sets(inputs.train, inputs.dev)
    try:
        with open_training_folder(folder, kind.description, fresh=fresh) as is_first, watching() as watcher:
            description: ModelDescription = train_model(
                kind, config, inputs, folder, revision=code_sha256(), watcher=watcher if is_first else None
            )
    except (EncoderUnavailableError, CausalLMError) as error:
        raise EncoderError(str(error)) from error
    except NothingToLearnError as error:
        raise UsageError(str(error)) from error
    return description


def check_disjoint_sets(train: Iterable[LearningSet], dev: Iterable[LearningSet]) -> None:
    """Raise `UsageError` if training set and dev share a question, by words and topics."""
    learned = {(normalise_question(text), topics) for each in train for _, text, topics in each.question_keys}
    keys = (key for each in dev for key in each.question_keys)
    shared = [id_ for id_, text, topics in keys if (normalise_question(text), topics) in learned]
    if shared:
        raise UsageError(
            f"--dev: {len(shared):,} of its questions are in --dataset as well (the first is {shared[0]}): "
            "give other questions"
        )


@contextmanager
def open_training_folder(folder: Path, kind: type[ModelDescription], *, fresh: bool) -> Iterator[bool]:
    """Create and lock a training folder, and yield whether this process is the first of its group.

    `fresh`: start again. Raises `UsageError` if the folder has another training, or if the loss becomes NaN or
    infinite; `StorageError` if the folder cannot be written.
    """
    try:
        with (
            translate_storage_errors(folder),
            process_group() as is_first,
            _hold_folder(folder, kind, fresh=fresh) if is_first else nullcontext(),
        ):
            wait_for_all_processes()  # until the first process holds the lock
            yield is_first
    except (TrainingStateError, FloatingPointError) as error:
        raise UsageError(str(error)) from error


@contextmanager
def _hold_folder(folder: Path, kind: type[ModelDescription], *, fresh: bool) -> Iterator[None]:
    """Create and lock the folder against other trainings; clear it if `fresh`."""
    folder.mkdir(parents=True, exist_ok=True)
    reason = f"--out {folder}: another training writes to it: wait until it is done, or name another folder"
    with lock_file(folder / ".lock", reason, refusal=UsageError(reason)):
        if fresh:
            delete_training(folder, kind)
        yield


def _plain_defaults(config: Any) -> dict[str, Any]:
    """Return the options of a configuration, or of a class with defaults for all fields, as plain data."""
    if isinstance(config, type):
        defaults = {
            each.name: each.default_factory() if each.default_factory is not MISSING else each.default
            for each in fields(config)
        }
    else:
        defaults = {each.name: getattr(config, each.name) for each in fields(config)}
    plain: dict[str, Any] = json.loads(json.dumps(defaults, default=asdict))
    return plain
