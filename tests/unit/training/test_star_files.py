"""What training reads and writes: mined files, checkpoints, options, pairs of question and relation."""

from __future__ import annotations

import json
import random
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from lodestar.engine.errors import CheckpointError
from lodestar.engine.neo4j.catalogue import Catalogue, RelationInfo
from lodestar.engine.resources import Resources
from lodestar.engine.settings import Connection, Settings
from lodestar.models.checkpoint import BadCheckpointError, load_description, write_checkpoint
from lodestar.models.mined import MinedFileError, is_mined, read_mined_file
from lodestar.models.star import StarDescription
from lodestar.models.star.network import DualEncoder, read_checkpoint, write_network
from lodestar.models.star.training import examples_of
from safetensors.torch import load_file

from tests.made.mined_examples import example, mined_file
from tests.made.tiny_checkpoint import tiny_backbone, write_tiny_checkpoint


def test_examples_are_what_can_be_walked_with_what_each_path_is_worth(tmp_path: Path) -> None:
    asked = example()
    assert len(asked.reachable) == 9
    assert asked.masked == ("What is the capital of ?",)
    assert asked.f1.tolist() == pytest.approx([1, 0, 0, 0, 0, 0, 0, 1 / 3, 0])
    assert asked.precision.tolist() == [1, 0, 0, 0, 0, 0, 0, 0.25, 0]
    assert asked.recall.tolist() == [1, 0, 0, 0, 0, 0, 0, 0.5, 0]
    assert asked.f1.dtype == "float32"
    assert asked.positive.tolist() == [True] + [False] * 8
    assert (asked.first_shortest, asked.has_gold, len(asked.negatives)) == (0, False, 3)
    packed, plain = mined_file(tmp_path / "a.jsonl.gz"), mined_file(tmp_path / "a.jsonl")
    assert read_mined_file(packed) == read_mined_file(plain)
    assert is_mined(packed)
    assert is_mined(plain)
    assert len(examples_of(read_mined_file(plain)).examples) == 24


def changed(record: dict[str, Any], **values: Any) -> str:
    return json.dumps(record | values)


def test_what_is_wrong_with_a_mined_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = mined_file(tmp_path / "mined.jsonl", 0, 2)
    lines = path.read_text(encoding="utf-8").splitlines()
    first, second = json.loads(lines[0]), json.loads(lines[1])
    answer, wrong_path = second["paths"][0], second["negatives"][0]
    wrong = {
        (1, "null"): "",
        (1, changed(first, format=9)): "format 2 in the first line",
        (1, changed({key: value for key, value in first.items() if key != "graph"})): "graph: field required",
        (2, lines[1][:-3]): "",
        (2, changed(second, paths=[{**answer, "worth": 1}])): "paths.0.worth: unexpected keyword argument, found 1",
        (2, changed(second, paths=[{**answer, "topic": 1}])): "leaves a topic of its question",
        (2, changed(second, paths=[{**answer, "hops": []}])): "a path has hops",
        (2, changed(second, paths=[{**answer, "hops": ["^spouse"]}])): "no words for spouse",
        (2, changed(second, reach=[{"capital": {"treaty → ^member": {}}}])): "no words for member",
        (2, changed(second, negatives=[{**wrong_path, "hops": ["spouse"]}])): "no words for spouse",
        (2, changed(second, negatives=[{**wrong_path, "hops": ["borders"] * 4}])): "at most 3 hops, found 4",
        (2, changed(second, reach=[{}])): "the paths from each of its topics",
    }
    for (number, line), message in wrong.items():
        (tmp_path / "wrong.jsonl").write_text(
            "\n".join([*lines[: number - 1], line, *lines[number:]]), encoding="utf-8"
        )
        with pytest.raises(MinedFileError) as caught:
            read_mined_file(tmp_path / "wrong.jsonl")
        said = str(caught.value)
        assert said.startswith(f"{tmp_path / 'wrong.jsonl'}:{number}: expected what `lodestar mine` writes: ")
        assert said.endswith(": mine the paths again")
        assert message in said
        assert "\n" not in said


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = write_tiny_checkpoint(tmp_path / "star")
    found = read_checkpoint(folder)
    assert (
        found.description
        == load_description(folder, StarDescription)[0]
        == resources().describe(str(folder), "star")[1]
    )
    assert found.cross is not None
    assert not found.dual.training
    assert not found.cross.training
    for name, network in (("dual", found.dual), ("cross", found.cross)):
        stored = load_file(folder / name / "model.safetensors")
        assert set(stored) == set(network.state_dict())
        assert all(torch.equal(tensor, stored[key]) for key, tensor in network.state_dict().items())
    assert read_checkpoint(write_tiny_checkpoint(tmp_path / "other", scorer="similarity")).cross is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "star"]


def resources() -> Resources:
    return Resources(Settings(), Connection("bolt://127.0.0.1:1", "neo4j", ""))


def test_a_flipped_byte_in_any_file_is_refused(tmp_path: Path) -> None:
    folder = write_tiny_checkpoint(tmp_path / "star")
    chance = random.Random(1)
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent != folder]
    assert len(files) >= 6
    for path in files:
        content = path.read_bytes()
        at = chance.randrange(len(content))
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(BadCheckpointError, match=f"{path}: missing, or not the file that was written"):
            read_checkpoint(folder)
        path.unlink()
        with pytest.raises(CheckpointError, match="missing, or not"):
            resources().model(str(folder), "star")
        path.write_bytes(content)
    read_checkpoint(folder)


def test_a_checkpoint_replaces_the_one_before_and_leaves_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tiny_checkpoint(tmp_path / "star")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "star.new").mkdir()
    monkeypatch.chdir(folder)
    write_tiny_checkpoint(Path(), scorer="similarity")
    assert read_checkpoint(folder).cross is None
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "dual", "notes.txt", "star.json"]
    assert (tmp_path / "star.new").exists()


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    folder = write_tiny_checkpoint(tmp_path / "star")
    before = read_checkpoint(folder)
    backbone = tiny_backbone()
    bad = copy(before.description)
    object.__setattr__(bad, "figures", {"x": object()})
    with pytest.raises(TypeError):
        write_checkpoint(folder, bad, {"dual": partial(write_network, backbone, DualEncoder(backbone))}, "")
    assert read_checkpoint(folder).description == before.description
    assert not (folder / ".checkpoint.new").exists()


def test_another_graph_is_refused(tmp_path: Path) -> None:
    catalogue = Catalogue((RelationInfo(1, "capital", "capital", 3),))
    folder = str(write_tiny_checkpoint(tmp_path / "fits", graph=catalogue.vocabulary))
    opened = resources()
    model = opened.of_graph(catalogue).model(folder, "star")
    grown = replace(catalogue, relations=(RelationInfo(1, "capital", "capital", 4_000),))
    assert opened.of_graph(grown).model(folder, "star") is model
    other = opened.of_graph(Catalogue((RelationInfo(1, "capital of", "capital of", 3),)))
    with pytest.raises(CheckpointError, match=r"was trained on another graph \(tiny questions;.* --set any_graph=true"):
        other.model(folder, "star")
    assert other.model(folder, "star", any_graph=True) is model
    general = str(write_tiny_checkpoint(tmp_path / "general", graph=catalogue.vocabulary, any_graph=True))
    assert other.model(general, "star").checkpoint.description.any_graph
