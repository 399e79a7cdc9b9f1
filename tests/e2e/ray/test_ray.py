"""`--ray` on a cluster of two nodes: what comes out is equal to what comes out without it, also if a worker is killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Lodestar, question_file
from tests.e2e.ray.conftest import kill_worker

pytestmark = [pytest.mark.long, pytest.mark.timeout(900), pytest.mark.usefixtures("engine")]

TEXTS = (
    "What is the capital of {}?",
    "Which currency is used in {}?",
    "What languages do they speak in {}?",
    "Which country borders {}?",
    "Who is the king of {}?",
)
NAMES = {"m.peru": "Peru", "m.chile": "Chile"}
REPEATS = 8


@pytest.fixture
def questions(tmp_path: Path) -> str:
    asked = [(text.format(name), topic, "m.lima") for text in TEXTS for topic, name in NAMES.items()]
    return question_file(tmp_path / "countries-dev.jsonl", *asked * REPEATS)


def approximate(number: str) -> Any:
    """Return what equals a number but for its sixth decimal, in which scores may differ from run to run."""
    return pytest.approx(float(number), abs=2e-6)


def records(folder: Path, read_number: Callable[[str], Any] = float) -> list[dict[str, Any]]:
    found = [json.loads(line, parse_float=read_number) for line in (folder / "records.jsonl").read_text().splitlines()]
    stages = ("seconds", "round_trips")  # their figures depend on what a worker has read before
    stable = ({**record, **{name: sorted(record[name]) for name in stages}} for record in found)
    return sorted(stable, key=lambda each: each["id"])


def test_an_evaluation_has_the_same_records_though_a_worker_is_killed(
    lodestar: Lodestar, questions: str, tmp_path: Path, ray_address: str
) -> None:
    plain, on_ray = tmp_path / "plain", tmp_path / "ray"
    assert lodestar("eval", questions, "--out", str(plain)).code == 0
    written = on_ray / "records.jsonl"
    with kill_worker(lambda: written.exists() and written.read_bytes().count(b"\n") >= 10) as killed:
        ran = lodestar("eval", questions, "--out", str(on_ray), "--ray", ray_address, "--workers", "2")
    assert ran.code == 0, ran.err
    assert killed, "no worker was there to be killed: nothing was tested"
    assert records(on_ray) == records(plain, approximate)


@pytest.mark.parametrize(
    "options",
    [("QUESTIONS",), ("QUESTIONS", "--pool")],
    ids=lambda each: each[-1],
)
def test_mined_files_are_equal_to_the_byte_though_a_worker_is_killed(
    options: tuple[str, ...], lodestar: Lodestar, questions: str, tmp_path: Path, ray_address: str
) -> None:
    plain, threads, on_ray = (tmp_path / name for name in ("plain.jsonl", "threads.jsonl", "ray.jsonl"))
    mine = ["mine", *(questions if each == "QUESTIONS" else each for each in options)]
    assert lodestar(*mine, "--out", str(plain)).code == 0
    assert lodestar(*mine, "--out", str(threads), "--workers", "2").code == 0
    with kill_worker(lambda: True) as killed:
        ran = lodestar(*mine, "--out", str(on_ray), "--ray", ray_address)
    assert ran.code == 0, ran.err
    assert killed, "no worker was there to be killed: nothing was tested"
    assert plain.read_bytes() == threads.read_bytes() == on_ray.read_bytes()
