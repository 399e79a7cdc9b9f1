"""What training reads and writes: mined files, checkpoints, options, pairs of question and relation."""

from __future__ import annotations

from copy import copy
from functools import partial
from pathlib import Path

import pytest
import torch
from lodestar.engine.resources import EngineResources
from lodestar.engine.settings import Connection, Settings
from lodestar.models.kinds import load_description, write_checkpoint
from lodestar.models.star import StarDescription
from lodestar.models.star.network import DualEncoder, write_network
from safetensors.torch import load_file

from tests.made.tiny_checkpoint import open_checkpoint, tiny_backbone, write_tiny_checkpoint


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = write_tiny_checkpoint(tmp_path / "star")
    found = open_checkpoint(folder)
    assert (
        found.description
        == load_description(folder, StarDescription)[0]
        == resources().describe(str(folder), "star")[1]
    )
    assert found.reader is not None
    assert not found.network.training
    assert not found.reader.network.training
    for name, network in (("dual", found.network), ("cross", found.reader.network)):
        stored = load_file(folder / name / "model.safetensors")
        assert set(stored) == set(network.state_dict())
        assert all(torch.equal(tensor, stored[key]) for key, tensor in network.state_dict().items())
    assert open_checkpoint(write_tiny_checkpoint(tmp_path / "other", mix=0)).reader is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "star"]


def resources() -> EngineResources:
    return EngineResources(Settings(), Connection("bolt://127.0.0.1:1", "neo4j", ""))


def test_a_checkpoint_replaces_the_one_before_and_leaves_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tiny_checkpoint(tmp_path / "star")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "star.new").mkdir()
    monkeypatch.chdir(folder)
    write_tiny_checkpoint(Path(), mix=0)
    assert open_checkpoint(folder).reader is None
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "dual", "notes.txt", "star.json"]
    assert (tmp_path / "star.new").exists()


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    folder = write_tiny_checkpoint(tmp_path / "star")
    before = open_checkpoint(folder)
    backbone = tiny_backbone()
    bad = copy(before.description)
    object.__setattr__(bad, "figures", {"x": object()})
    with pytest.raises(TypeError):
        write_checkpoint(folder, bad, {"dual": partial(write_network, backbone, DualEncoder(backbone))}, "")
    assert open_checkpoint(folder).description == before.description
    assert not (folder / ".checkpoint.new").exists()
