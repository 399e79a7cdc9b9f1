"""Trainings of every kind on sets that a test made, on the processor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lodestar.models.atomic_files import compute_file_sha256
from lodestar.models.kinds import ModelKind
from lodestar.models.training import TrainingFolder
from safetensors.torch import load_file, save_file


class Encoding:
    """Text vectors of which only the encoder's `encode` is there."""

    weights_digest = None

    def __init__(self, encode: Callable[..., Any]) -> None:
        self.encode = encode

    @property
    def encoder(self) -> Encoding:
        return self


class OneEncoder(dict[str, Any]):
    """Text vectors that are those of any encoder."""

    def __init__(self, vectors: Any) -> None:
        super().__init__()
        self._vectors = vectors

    def __contains__(self, _name: object) -> bool:
        return True

    def __getitem__(self, _name: str) -> Any:
        return self._vectors


def train_sets(
    kind: ModelKind,
    config: Any,
    train: Sequence[Any],
    dev: Sequence[Any],
    folder: Path,
    *,
    encode: Callable[..., Any] | None = None,
    vectors: Any = None,
    **more: Any,
) -> Any:
    """Train in a folder, with `vectors` of one encoder (or what encodes), else of any by its name."""
    vectors = vectors if encode is None else Encoding(encode)
    out = TrainingFolder(folder, vectors={} if vectors is None else OneEncoder(vectors), **more)
    return out.fit(kind, config, train, dev)


class StoppedError(Exception):
    """Stands for a kill: nothing of the process is left but its files."""


def stop_at(network: str, epoch: int, done: int) -> Callable[[str, int, int, int, float], None]:
    """Return an `on_step` that stops a training after a step of a network."""

    def on_step(name: str, now: int, step: int, _total: int, _loss: float) -> None:
        if (name, now, step) == (network, epoch, done):
            raise StoppedError

    return on_step


def grow_weights(checkpoint: str | Path, to: Path, factor: float = 1e30) -> str:
    """Copy a checkpoint with all weights so many times as large, every one of them finite; return where it is."""
    shutil.copytree(checkpoint, to)
    (path,) = (path for path in to.glob("*.json") if "files" in json.loads(path.read_text(encoding="utf-8")))
    said = json.loads(path.read_text(encoding="utf-8"))
    for name in said["files"]:
        if name.endswith(".safetensors"):
            weights = load_file(to / name)
            save_file(
                {key: value * factor if value.is_floating_point() else value for key, value in weights.items()},
                to / name,
            )
            said["files"][name] = compute_file_sha256(to / name)
    path.write_text(json.dumps(said), encoding="utf-8")
    return str(to)
