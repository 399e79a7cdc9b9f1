"""STAR's training as the command line asks for it: its configuration, its errors, its process group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from ...models.encoder import EncoderUnavailableError
from ...models.star.checkpoint import Description
from ...models.star.config import PAPER, StarConfig, seeded, with_training
from ...models.star.inputs.pairs import RelationPairs
from ...models.star.mined import Mined, MinedQuestion
from ...models.star.train_star import train_star
from ...models.training.processes import process_group, wait_for_all
from ...models.training.state import TrainingStateError
from ...models.training.trainer import Watcher, begin_anew
from ..code_hash import code_sha256
from ..errors import EncoderError, UsageError
from ..resolving import change, filled
from ..server.file_lock import locked
from ..whole_file import storing
from .relation_pairs import plain_words

PRESETS = {"best": StarConfig(), "paper": PAPER}


def star_config(
    preset: str,
    changes: Sequence[str],
    *,
    scorer: str | None,
    encoder: str | None,
    epochs: int | None = None,
    seed: int,
) -> StarConfig:
    """Return a preset with what the command line changes, `changes` last; raise `UsageError` for an unknown option."""
    config = seeded(PRESETS[preset], seed)
    if epochs is not None:
        config = with_training(config, {"epochs": epochs})
    data = json.loads(json.dumps(config.as_json()))
    data |= {name: value for name, value in (("scorer", scorer), ("encoder", encoder)) if value}
    for said in changes:
        change(data, said, "cross_training.epochs=5")
    return filled(StarConfig, data, "train star")


def trained(
    config: StarConfig,
    train_on: Sequence[Mined],
    choose_on: Sequence[Mined],
    folder: Path,
    *,
    pairs: RelationPairs | None,
    fresh: bool,
    watcher: Watcher,
) -> Description:
    """Train, or take a training up, and return the description of the checkpoint; one training at a time in a folder.

    Raises `UsageError` for a folder with another training, for sets that have questions in common, and for a loss that
    is no number any more; `StorageError` for a folder that cannot be written.
    """
    _check_apart(train_on, choose_on)
    try:
        with storing(folder), process_group() as is_first, _held(folder, fresh=fresh) if is_first else nullcontext():
            wait_for_all()  # nobody reads the folder before the first process has it
            return train_star(
                config,
                train_on,
                choose_on,
                folder,
                pairs=pairs,
                revision=code_sha256(),
                watcher=watcher if is_first else None,
            )
    except EncoderUnavailableError as error:
        raise EncoderError(str(error)) from error
    except (TrainingStateError, FloatingPointError) as error:
        raise UsageError(str(error)) from error


@contextmanager
def _held(folder: Path, *, fresh: bool) -> Iterator[None]:
    """Keep other trainings out of the folder, which is made; begin anew in it where that is asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    reason = f"--out {folder}: another training writes to it: wait until it is done, or name another folder"
    with locked(folder / ".lock", reason, refusal=UsageError(reason)):
        if fresh:
            begin_anew(folder, Description)
        yield


def _check_apart(train_on: Sequence[Mined], choose_on: Sequence[Mined]) -> None:
    """See that no question is both learned from and chosen on."""
    learned = {_asked(question) for mined in train_on for question in mined.questions}
    shared = [question.id for mined in choose_on for question in mined.questions if _asked(question) in learned]
    if shared:
        raise UsageError(
            f"--dev: {len(shared):,} of its questions are in --dataset as well (the first is {shared[0]}): "
            "give questions that are not learned from"
        )


def _asked(question: MinedQuestion) -> tuple[str, frozenset[str]]:
    return plain_words(question.text), frozenset(topic.id for topic in question.topics)
