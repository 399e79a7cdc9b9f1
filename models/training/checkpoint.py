"""A checkpoint of any kind: a folder of safetensors, with a description that says what it is, and a card for people.

    KIND.json     the resolved configuration, what it was trained on, its figures, SHA-256 of each file of its parts
    README.md     the model card
    PART/         the files of a network, model.safetensors among them

Description and parts are those of the kind (`star`). No pickle is ever read or written.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..file_hash import file_sha256
from ..one_line import one_line
from ..whole_file import storage_errors
from .description import FORMAT, CheckpointError, DescriptionT, ModelDescription, described

CARD = "README.md"
WEIGHTS = "model.safetensors"
DRAFT = ".checkpoint.new"

Writer = Callable[[Path], None]
"""Writes the files of a part into its folder."""


def write_folder(folder: Path, description: ModelDescription, parts: Mapping[str, Writer], card: str) -> None:
    """Write a checkpoint, whole or not at all, in the place of the one before: its description, its parts, its card.

    Raises `OSError` where it cannot be written, `ValueError` for a description with a number that is none.
    """
    draft = folder / DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        for name, writer in parts.items():
            (draft / name).mkdir()
            with storage_errors():
                writer(draft / name)
        written = sorted(path for path in draft.rglob("*") if path.is_file())
        hashes = {path.relative_to(draft).as_posix(): file_sha256(path) for path in written}
        said = {"format": FORMAT, "kind": description.kind, **asdict(description), "files": hashes}
        text = json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False)
        name = f"{description.kind}.json"
        (draft / name).write_text(text + "\n", encoding="utf-8")
        (draft / CARD).write_text(card, encoding="utf-8")
        remove_checkpoint(folder, type(description))  # from here to the last line there is no checkpoint
        for path in sorted(draft.iterdir(), key=lambda path: path.name == name):
            path.replace(folder / path.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remove_checkpoint(folder: Path, kind: type[ModelDescription]) -> None:
    """Remove the checkpoint of a folder, if there is one: first what says that it is one."""
    (folder / f"{kind.kind}.json").unlink(missing_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    for part in kind.parts:
        shutil.rmtree(folder / part, ignore_errors=True)


def checked(folder: Path, kind: type[DescriptionT], parts: Callable[[DescriptionT], Collection[str]]) -> DescriptionT:
    """Return the description of a checkpoint, every file of it checked against its hash, those of all `parts` there.

    Raises `CheckpointError` for a file that is missing, damaged, or cannot be read.
    """
    description, hashes = described(folder, kind)
    for name in sorted({*hashes, *(f"{part}/{WEIGHTS}" for part in parts(description))}):
        path = folder / name
        with readable(path):
            if not path.is_file() or file_sha256(path) != hashes.get(name):
                raise CheckpointError(
                    f"{path}: missing, or not the file that was written: train or fetch the checkpoint again"
                )
    return description


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise `CheckpointError` for what can go wrong in the block, which reads files of a checkpoint."""
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        raise CheckpointError(
            f"{path}: the checkpoint cannot be read ({one_line(error)}): train or fetch it again"
        ) from error


def write_weights(weights: Mapping[str, Tensor], part: Path) -> None:
    """Write the weights of a network into the folder of its part, or raise `OSError`."""
    path = part / WEIGHTS
    try:
        save_file({name: each.detach().cpu().contiguous() for name, each in weights.items()}, path, {"format": "pt"})
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error


def read_weights(part: Path) -> dict[str, Tensor]:
    """Return the weights in the folder of a part; raise `ValueError` where one of them is no number."""
    weights = load_file(part / WEIGHTS)
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{name} has a weight that is no number")
    return weights
