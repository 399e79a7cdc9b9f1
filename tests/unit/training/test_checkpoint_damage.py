"""Checkpoints that are not as they were written: each is one line that says what is wrong, before anything is scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.errors import ModelError
from lodestar.engine.resources import EngineResources
from lodestar.engine.settings import Connection, Settings
from lodestar.models.atomic_files import compute_file_sha256
from safetensors.torch import load_file, save_file

from tests.made.tiny_checkpoint import write_tiny_checkpoint

Said = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny_checkpoint(tmp_path / "star")


def say(folder: Path, **changes: Any) -> None:
    path = folder / "star.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def sign(folder: Path, name: str) -> None:
    """Make the description name the file that is there."""
    files = json.loads((folder / "star.json").read_text(encoding="utf-8"))["files"]
    say(folder, files=files | {name: compute_file_sha256(folder / name)})


def resources() -> EngineResources:
    return EngineResources(Settings(), Connection("bolt://127.0.0.1:1"))


def line(folder: Path, read: Callable[..., object] = EngineResources.model) -> str:
    with pytest.raises(ModelError) as caught:
        read(resources(), str(folder), "star")
    said = str(caught.value)
    assert said.startswith(str(folder))
    assert caught.value.exit_code == 8
    assert "\n" not in said
    assert len(said) < len(str(folder)) + 400
    return said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"calibration": [1.0, float("nan")]}, "damaged: Out of range float values"),
        ({"calibration": [1e300, 0.0]}, "damaged: calibration.0: input should be less than or equal to 1000000000"),
        (
            {"config": {"encoder": ["x" * 5_000]}},
            "damaged: config.encoder: input should be a valid string, found ['xxx",
        ),
        ({"files": {"/etc/passwd": "0" * 64}}, "damaged: '/etc/passwd' is not a file of a part"),
        ({"files": {"dual/../../x": "0" * 64}}, "damaged: 'dual/../../x' is not a file of a part"),
        ({"files": {}}, "cross/model.safetensors: missing, or not the file that was written"),
        ({"format": 2}, "expected format 4 and kind star, found 2 and 'star': train the checkpoint again, or update"),
    ],
)
def test_a_value_that_cannot_be_is_named(changes: Said, message: str, folder: Path) -> None:
    say(folder, **changes)
    assert message in line(folder)


def test_weights_that_are_no_numbers(folder: Path) -> None:
    weights = load_file(folder / "dual" / "model.safetensors")
    weights["hop_cost.weight"][0, 1] = float("nan")
    save_file(weights, folder / "dual" / "model.safetensors")
    sign(folder, "dual/model.safetensors")
    assert "hop_cost.weight has a weight that is not finite" in line(folder)
