"""What a training leaves on a disk, changed: it is read, or an error says in one line that it is not."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from lodestar.models.mined import MinedFileError
from lodestar.models.star.config import StarDescription
from lodestar.models.star.examples import examples_of
from lodestar.models.star.mined import is_mined, read_mined_file
from lodestar.models.training.checkpoint import TrainingStateError, read_state, read_weights, translate_read_errors
from lodestar.models.training.description import FORMAT, BadCheckpointError, TrainingDataRecord, load_description

from tests.made.mined_examples import MINING, questions

GOOD = {
    "format": FORMAT,
    "kind": "star",
    **asdict(
        StarDescription(
            scorer="cross",
            encoder="tiny",
            mix=0.5,
            shortlist=8,
            calibration=(1.5, -2.0),
            config={"scorer": "cross", "dual": {"batch_size": 3}},
            train=(TrainingDataRecord("questions", "1" * 64, "2" * 64, "3" * 64, num_questions=3, max_hop=2),),
            dev=(),
            figures={"dual encoder": {"f1": 0.5}},
            seconds={"dual encoder": 1.5},
            pairs={"webqsp": 3},
        )
    ),
    "files": {"dual/model.safetensors": "4" * 64},
}


def check_trained(data: bytes, folder: Path) -> None:
    """The first byte says what the others are: a description, a field of one in each line, weights, the state of a
    training, a mined file, a line behind the first of one."""
    kind, rest = (data[0] if data else 0) % 6, data[1:]
    try:
        match kind:
            case 0:
                check_description(rest, folder)
            case 1:
                check_description(changed(rest), folder)
            case 2:
                check_weights(rest, folder)
            case 3:
                check_state(rest, folder)
            case 4:
                check_mined(rest, folder)
            case 5:
                check_mined(first_line() + rest, folder)
    except (BadCheckpointError, TrainingStateError, MinedFileError) as error:
        assert "\n" not in str(error)
        assert len(str(error)) < len(str(folder)) + 500


def changed(fields: bytes) -> bytes:
    """Return the description with the fields that are one a line, as ``mix=2``."""
    said: dict[str, Any] = dict(GOOD)
    for line in fields.decode("utf-8", "replace").split("\n"):
        name, equals, value = line.partition("=")
        try:
            said[name] = json.loads(value) if equals else None
        except (ValueError, RecursionError):
            said[name] = value
    return json.dumps(said).encode()


def check_description(content: bytes, folder: Path) -> None:
    (folder / "star.json").write_bytes(content)
    found = load_description(folder, StarDescription)[0]
    slope, intercept = found.calibration
    assert all(map(math.isfinite, (slope, intercept, slope * 1e6 + intercept)))
    assert 0 <= found.mix <= (1 if found.scorer == "cross" else 0)
    assert found.shortlist >= 1
    assert all(isinstance(graph, str) for graph in found.graphs)
    json.dumps(asdict(found), allow_nan=False)


def check_weights(content: bytes, folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(content)
    with translate_read_errors(folder):
        for tensor in read_weights(folder).values():
            assert tensor.isfinite().all()


def check_state(content: bytes, folder: Path) -> None:
    (folder / "training-dual.safetensors").write_bytes(content)
    state = read_state(folder / "training-dual.safetensors", {"network": "dual"})
    assert state
    assert min(state.epoch, state.step) >= 0


@cache
def first_line() -> bytes:
    return (
        json.dumps({"format": 1, **asdict(MINING)}).encode()
        + b"\n"
        + json.dumps(asdict(questions()[0])).encode()
        + b"\n"
    )


def check_mined(content: bytes, folder: Path) -> None:
    path = folder / "mined.jsonl"
    path.write_bytes(content)
    is_mined(path)
    found = read_mined_file(path)
    for example in examples_of(found).examples:
        assert all(math.isfinite(value) for value in (*example.f1, *example.precision, *example.recall))
    assert is_mined(path)
