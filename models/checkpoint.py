"""Read and write checkpoints.

    KIND.json     the configuration, the training data, the figures, SHA-256 of each file of its parts
    README.md     the model card
    PART/         the files of a network, model.safetensors among them

The kind defines description and parts. No pickle is ever read or written.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from . import one_line
from .kinds import ModelDescription, ModelKind, decode_dataclass, list_installed_kinds, load_kind
from .whole_file import file_sha256, translate_safetensors_errors

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

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
    names = by_name or list_installed_kinds()
    try:
        name = next((name for name in names if (folder / f"{name}.json").exists()), None)
        if name is None:
            raise _missing(folder, names)
        return by_name.get(name) or load_kind(name)
    except OSError as error:
        raise BadCheckpointError(f"{folder}: the checkpoint cannot be read: {error.strerror}") from error
    except LookupError as error:
        raise BadCheckpointError(f"{folder}: {error}") from error


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
    form, named = fields.pop("format", None), fields.pop("kind", None)
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


def check_checkpoint(folder: Path, kind: type[DescriptionT]) -> DescriptionT:
    """Return a checkpoint's description after checking every file's hash; the weights of its networks must be there.

    Raises `BadCheckpointError` for a missing, damaged or unreadable file.
    """
    description, hashes = load_description(folder, kind)
    for name in sorted({*hashes, *(f"{part}/{WEIGHTS}" for part in description.networks)}):
        path = folder / name
        with translate_read_errors(path):
            if not path.is_file() or file_sha256(path) != hashes.get(name):
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
        hashes = {path.relative_to(draft).as_posix(): file_sha256(path) for path in written}
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
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path = part / WEIGHTS
    try:
        save_file({name: each.detach().cpu().contiguous() for name, each in weights.items()}, path, {"format": "pt"})
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error


def load_network(network: NetworkT, part: Path, device: str | torch.device = "cpu") -> NetworkT:
    """Return a network with the weights of its part, ready to score on a device.

    Raises `BadCheckpointError` if they cannot be read.
    """
    with translate_read_errors(part):
        network.load_state_dict(read_weights(part))
    return network.eval().to(device)


def read_weights(part: Path) -> dict[str, Tensor]:
    """Return the weights in the folder of a part; raise `ValueError` for a weight that is not finite."""
    from safetensors.torch import load_file

    weights = load_file(part / WEIGHTS)
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise ValueError(f"{name} has a weight that is not finite")
    return weights
