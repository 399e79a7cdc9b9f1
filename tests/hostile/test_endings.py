"""A full disk, a limit and a signal end a command with one line, and nothing half done is left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import question_file, run_process
from tests.made.smollm import smollm

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]


def questions(folder: Path, first: int = 0) -> str:
    asked = [(f"What is the capital of Peru? {first} {number}", "m.peru", "m.lima") for number in range(40)]
    return question_file(folder / f"questions-{first}.jsonl", *asked)


@pytest.mark.parametrize("max_bytes", [2_000, 20_000, 100_000])
@pytest.mark.parametrize("verb", ["eval", "mine", "export", "reg-triple", "star"])
def test_a_limit_of_a_file_is_one_line(environment: dict[str, str], tmp_path: Path, verb: str, max_bytes: int) -> None:
    train, dev, out = questions(tmp_path), questions(tmp_path, 1), str(tmp_path / "out")
    sets = ("--dataset", train, "--dev", dev, "--out", out, "--epochs", "1")
    arguments = {
        "eval": ("eval", train, "--out", out),
        "mine": ("mine", train, "--out", out),
        "export": ("export", out, "--format", "ntriples"),
        "reg-triple": ("train", "reg-triple", *sets),
        "star": ("train", "star", "--set", "mix=0", *sets),
    }
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (max_bytes, max_bytes))
    ran = run_process(environment, *arguments[verb], preexec_fn=limit)
    assert "Traceback" not in ran.stderr, ran.stderr[-1500:]
    assert ran.returncode in (0, 10), (ran.returncode, ran.stderr[-600:])
    if ran.returncode:
        assert ran.stderr.splitlines()[-1].startswith("lodestar: ")


def test_a_signal_puts_things_away(environment: dict[str, str], tmp_path: Path) -> None:
    home = Path(environment["LODESTAR_HOME"])
    kg = tmp_path / "kg.tsv"
    with kg.open("w", encoding="utf-8") as file:
        file.writelines(f"entity{n}\tknows\tentity{n * 7 % 100_003}\n" for n in range(2_000_000))
    before = {str(path) for path in home.rglob("*") if "staging" in str(path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "lodestar", "load", "tsv", str(kg), "--dry-run"],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started_s = time.monotonic()
    while (
        time.monotonic() - started_s < 60
        and {str(path) for path in home.rglob("*") if "staging" in str(path)} <= before
    ):
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err[-1000:]
    assert process.returncode in (143, 0), err
    left = {str(path) for path in home.rglob("*") if "staging/" in str(path)} - before
    assert not left, left


def test_a_signal_leaves_no_half_export(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "kg.tsv"
    code = (
        "import os, signal, sys\n"
        "from lodestar.loaders import export\n"
        "from lodestar.engine.cli.main import run\n"
        "export.os.fsync = lambda number: os.kill(os.getpid(), signal.SIGTERM)\n"
        f"sys.argv = ['lodestar', 'export', {str(out)!r}]\n"
        "run()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 143, ran.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("number", "after_s"), [(signal.SIGTERM, 0.0), (signal.SIGINT, 0.0), (signal.SIGINT, 4.0)])
def test_a_signal_ends_a_question_to_a_model_inside_soon(
    environment: dict[str, str], number: signal.Signals, after_s: float
) -> None:
    """A GGUF file is being read, or a prompt."""
    model = {"LODESTAR_LLM_BASE_URL": "gguf", "LODESTAR_LLM_MODEL": str(smollm()), "LODESTAR_LLM_TIMEOUT_S": "240"}
    command = [sys.executable, "-m", "lodestar", "ask", "--llm", "What is the capital of Peru?"]
    process = subprocess.Popen(command, env=environment | model, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("loading ")
    children = psutil.Process(process.pid).children(recursive=True)
    time.sleep(after_s)
    started_s = time.monotonic()
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    took_s = time.monotonic() - started_s
    assert process.returncode in (128 + number, 0), said
    assert took_s < 5  # two where nothing else runs
    assert not psutil.wait_procs(children, timeout=10)[1]
