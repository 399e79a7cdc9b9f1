"""`lodestar train star` as a process: killed at any moment and run again, refused in one line."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.file_access import lock_file

from tests.e2e.conftest import Lodestar, run_process
from tests.made.mined_examples import mined_file, tiny_encoder
from tests.made.tiny_checkpoint import open_checkpoint
from tests.places import clean_environment

EPOCHS = 2
OPTIONS = (
    *("--epochs", str(EPOCHS), "--json"),
    *("--set", "dual.batch_size=2", "--set", "cross.batch_size=2", "--set", "cross.num_negatives=2"),
    *("--set", "dual_training.patience=9", "--set", "cross_training.patience=9"),
)


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment of a training: one thread, so that sums are taken in one order; no graph is needed."""
    return clean_environment(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mined")
    mined_file(folder / "train.jsonl.gz", 0, 6)
    mined_file(folder / "dev.jsonl", 8, 12)
    tiny_encoder(folder / "encoder")
    return folder


def command(data: Path, out: Path) -> list[str]:
    files = ("--dataset", str(data / "train.jsonl.gz"), "--dev", str(data / "dev.jsonl"))
    return ["train", "star", *files, "--out", str(out), "--set", f"encoder={data / 'encoder'}", *OPTIONS]


@pytest.fixture(scope="module")
def undisturbed(data: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "star"
    done = run_process(environment, *command(data, out))
    assert done.returncode == 0, done.stderr
    return out


def epochs_done(out: Path, network: str) -> int:
    """The epochs of a network's training that are stored."""
    try:
        with (out / f"training-{network}.safetensors").open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            said = json.loads(json.loads(file.read(length))["__metadata__"]["training"])
    except FileNotFoundError:
        return 0
    return len(said["history"])


MOMENTS: dict[str, Callable[[Path], bool]] = {  # one after the other, each goes on from the one before
    "in the dual encoder's second epoch": lambda out: epochs_done(out, "dual") == 1,
    "between the two": lambda out: epochs_done(out, "dual") == EPOCHS,
    "in the cross-attentive scorer's last epoch, with negatives taken anew": lambda out: (
        epochs_done(out, "cross") == EPOCHS - 1
    ),
}


def killed(arguments: list[str], environment: dict[str, str], moment: Callable[[], bool]) -> bool:
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if moment():
                process.kill()
                return process.wait() == -signal.SIGKILL
            time.sleep(0.002)
    return False


@pytest.mark.timeout(900)
@pytest.mark.long
def test_killed_and_run_again_it_comes_to_the_same_checkpoint(
    data: Path, undisturbed: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "star"
    arguments = [sys.executable, "-m", "lodestar", *command(data, out)]
    for name, moment in MOMENTS.items():
        assert killed(arguments, environment, lambda moment=moment: moment(out)), name
    done = run_process(environment, *command(data, out))
    assert done.returncode == 0, done.stderr
    assert contents(out) == contents(undisturbed)


def contents(folder: Path) -> dict[str, Any]:
    """Every file of a checkpoint, but for how long the training took."""
    open_checkpoint(folder)
    said = json.loads((folder / "star.json").read_text(encoding="utf-8")) | {"seconds": None}
    files = {str(path.relative_to(folder)): path.read_bytes() for path in files_of(folder)}
    return {**files, "star.json": said, "README.md": None}


def files_of(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")


def one_line(said: str) -> str:
    lines = [line for line in said.splitlines() if line.startswith("lodestar: ")]
    assert lines == said.splitlines()[-1:], said
    return lines[0]


def test_two_trainings_in_one_folder_are_refused(data: Path, lodestar: Lodestar, tmp_path: Path) -> None:
    with lock_file(tmp_path / ".lock", ""):
        said = lodestar(*command(data, tmp_path))
    assert said.code == UsageError.exit_code
    assert "another training writes to it" in one_line(said.err)


@pytest.mark.long
def test_a_finished_checkpoint_is_not_replaced_by_another(data: Path, undisturbed: Path, lodestar: Lodestar) -> None:
    before = contents(undisturbed)
    other = ("--dataset", str(data / "dev.jsonl"), "--dev", str(data / "train.jsonl.gz"), "--out", str(undisturbed))
    said = lodestar("train", "star", *other, "--set", f"encoder={data / 'encoder'}", *OPTIONS)
    assert said.code == UsageError.exit_code
    assert "star.json is the checkpoint of another training (train, dev differ): name another --out" in one_line(
        said.err
    )
    said = lodestar(*command(data, undisturbed), "--seed", "1")
    assert said.code == UsageError.exit_code
    assert "another training (config differ)" in one_line(said.err)
    assert lodestar(*command(data, undisturbed)).code == 0  # the same again: nothing to do
    assert contents(undisturbed) == before
