"""A STAR checkpoint: a folder of safetensors, the encoders' descriptions, and ``star.json``, which says what it is.

    star.json               the resolved configuration, what it was trained on, its figures, SHA-256 of each file
    README.md               the model card
    dual/, cross/           config.json and tokenizer of the encoder, model.safetensors

`cross/` is missing where the scorer is `similarity`. No pickle is ever read or written.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ..file_hash import file_sha256
from .inputs.texts import Texts
from .networks.backbone import Backbone, describe_backbone, stored_backbone
from .networks.cross_encoder import CrossAttentiveScorer
from .networks.dual_encoder import DualEncoder

FORMAT = 1


class CheckpointError(Exception):
    """A checkpoint is missing, damaged, or not fit for what is asked of it; the message says what to do."""


@dataclass(frozen=True, slots=True)
class TrainedOn:
    """A mined file that a checkpoint learned from, or was chosen on: the question set, its hash, the graph."""

    questions: str
    questions_sha256: str
    mined_sha256: str
    graph: str
    num_questions: int
    max_hop: int


@dataclass(frozen=True, slots=True)
class Description:
    """What ``star.json`` says beside the files' hashes. `mix`: see `mixing`. `calibration`: slope and intercept
    of a score's probability, see `calibration`. `figures` are of the dev questions, `pairs` the number of pairs of
    question and relation by where they are from."""

    scorer: str
    encoder: str
    mix: float
    shortlist: int
    calibration: tuple[float, float]
    config: Mapping[str, Any]
    train: tuple[TrainedOn, ...]
    dev: tuple[TrainedOn, ...]
    figures: Mapping[str, Mapping[str, float]]
    seconds: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[str, int] = field(default_factory=dict)
    revision: str = ""
    """Of the code that trained it."""

    @property
    def graphs(self) -> frozenset[str]:
        """Fingerprints of the graphs it was trained on."""
        return frozenset(each.graph for each in self.train)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint in memory, ready to score. `cross` is None where the scorer is `similarity`."""

    description: Description
    dual: DualEncoder
    dual_texts: Texts
    cross: CrossAttentiveScorer | None
    cross_texts: Texts | None


@dataclass(frozen=True, slots=True)
class Network:
    """A trained network with its encoder, to be written."""

    backbone: Backbone
    network: nn.Module


def write_checkpoint(folder: Path, description: Description, networks: Mapping[str, Network], card: str) -> None:
    """Write a checkpoint, whole or not at all; what was in the folder's `star.json`, `dual` and `cross` is replaced."""
    draft = folder / ".checkpoint.new"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        for name, trained in networks.items():
            part = draft / name
            part.mkdir()
            describe_backbone(trained.backbone, part)
            weights = {key: tensor.detach().cpu().contiguous() for key, tensor in trained.network.state_dict().items()}
            _save(weights, part / "model.safetensors")
        written = sorted(path for path in draft.rglob("*") if path.is_file())
        hashes = {str(path.relative_to(draft)): file_sha256(path) for path in written}
        said = {"format": FORMAT, **asdict(description), "files": hashes}
        (draft / "star.json").write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (draft / "README.md").write_text(card, encoding="utf-8")
        (folder / "star.json").unlink(missing_ok=True)  # from here to the last line there is no checkpoint
        for name in ("dual", "cross"):
            shutil.rmtree(folder / name, ignore_errors=True)
        for path in sorted(draft.iterdir(), key=lambda path: path.name == "star.json"):
            path.replace(folder / path.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read_description(folder: Path) -> Description:
    """Return what a checkpoint says of itself; raise `CheckpointError` where there is none or it is damaged."""
    return _described(folder)[0]


def read_checkpoint(folder: Path, device: str = "cpu", precision: torch.dtype = torch.float32) -> Checkpoint:
    """Return a checkpoint, every file of it checked against its hash; raise `CheckpointError` for a damaged one.

    precision: the type of the encoders' weights; what is on top of them stays float32.
    """
    description, hashes = _described(folder)
    for name, sha256 in hashes.items():
        path = folder / name
        if not path.is_file() or file_sha256(path) != sha256:
            raise CheckpointError(
                f"{path}: missing, or not the file that was written: train or fetch the checkpoint again"
            )
    try:
        dual_backbone = stored_backbone(description.encoder, folder / "dual")
        dual = DualEncoder(dual_backbone)
        dual.load_state_dict(load_file(folder / "dual" / "model.safetensors"))
        cross, cross_texts = None, None
        if description.scorer == "cross":
            backbone = stored_backbone(description.encoder, folder / "cross")
            cross = CrossAttentiveScorer(backbone)
            cross.load_state_dict(load_file(folder / "cross" / "model.safetensors"))
            cross_texts = Texts(backbone.tokenizer)
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{folder}: the checkpoint cannot be read ({error}): train or fetch it again") from error
    for network in (dual, cross):
        if network is not None:
            network.eval().to(device)
            network.encoder.to(precision)
    return Checkpoint(description, dual, Texts(dual_backbone.tokenizer), cross, cross_texts)


def _described(folder: Path) -> tuple[Description, dict[str, str]]:
    path = folder / "star.json"
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder}: expected a checkpoint with star.json, found none: name the folder that `lodestar train star` "
            "wrote to"
        ) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: the checkpoint cannot be read ({error})") from error
    try:
        if said.pop("format") != FORMAT:
            raise CheckpointError(f"{path}: expected format {FORMAT}: train the checkpoint again, or update Lodestar")
        hashes = {str(name): str(sha256) for name, sha256 in said.pop("files").items()}
        said["calibration"] = tuple(said["calibration"])
        said["train"] = tuple(TrainedOn(**each) for each in said["train"])
        said["dev"] = tuple(TrainedOn(**each) for each in said["dev"])
        return Description(**said), hashes
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path}: damaged ({error!r}): train or fetch the checkpoint again") from error


def _save(weights: dict[str, Tensor], path: Path) -> None:
    try:
        save_file(weights, path, {"format": "pt"})
    except SafetensorError as error:
        raise OSError(f"{path}: {error}") from error
