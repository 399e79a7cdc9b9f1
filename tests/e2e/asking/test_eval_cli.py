"""`lodestar eval` as a user runs it: runs that are killed and resumed, made again, compared and shown."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Lodestar
from tests.fakes.scripted_llm import Reply, Request, ScriptedLLM, says, status

pytestmark = pytest.mark.usefixtures("engine")

ASKED = (
    ("What is the capital of {}?", {"m.peru": ["m.lima"], "m.chile": ["m.santiago"]}),
    ("Which currency is used in {}?", {"m.peru": ["m.sol"], "m.chile": ["m.peso"]}),
    ("What languages do they speak in {}?", {"m.peru": ["m.spanish", "m.quechua"], "m.chile": ["m.spanish"]}),
    ("Which country borders {}?", {"m.peru": ["m.chile"], "m.chile": ["m.peru"]}),
    ("On which continent is {}?", {"m.peru": ["m.south_america"], "m.chile": ["m.south_america"]}),
    ("Who is the king of {}?", {"m.peru": [], "m.chile": ["m.nobody"]}),
)
NAMES = {"m.peru": "Peru", "m.chile": "Chile"}
REPEATS = 8


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    lines: list[dict[str, Any]] = [
        {"id": f"{n}-{i}-{topic}", "question": text.format(NAMES[topic]), "topic_entities": [topic], "answers": found}
        for n in range(REPEATS)
        for i, (text, answers) in enumerate(ASKED)
        for topic, found in answers.items()
    ]
    for line in lines:
        line["num_hops"] = 1
    path = tmp_path / "countries-dev.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def figures(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    for changing in ("where", "cost"):
        del report[changing]
    report["calibration"]["ece"] = round(report["calibration"]["ece"], 4)
    return report


@pytest.mark.long
def test_a_run_that_was_killed_is_finished_as_an_undisturbed_one(
    lodestar: Lodestar, environment: dict[str, str], questions: Path, tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert lodestar("eval", str(questions), "--out", str(whole)).code == 0
    command = [sys.executable, "-m", "lodestar", "eval", str(questions), "--workers", "2", "--out", str(killed)]
    records = killed / "records.jsonl"
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as process:
        deadline_s = time.monotonic() + 60
        while not (records.exists() and records.read_bytes().count(b"\n") >= 5):
            assert time.monotonic() < deadline_s
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    done = records.read_bytes().count(b"\n")
    assert 5 <= done < 12 * REPEATS
    assert not (killed / "report.json").exists()
    records.write_bytes(records.read_bytes() + b'{"id": "cut')
    assert lodestar("eval", str(questions), "--out", str(killed)).code == 0
    assert figures(killed) == figures(whole)
    assert len(records.read_text().splitlines()) == 12 * REPEATS


def test_the_report_says_all(lodestar: Lodestar, questions: Path, tmp_path: Path) -> None:
    ran = lodestar("eval", str(questions), "--json", "--out", str(tmp_path / "run"))
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert report["num_questions"] == 12 * REPEATS
    assert report["num_questions"] - report["num_right"] == report["misses"]["num"] == len(report["wrong"])
    hits = report["figures"]["strict/hits_at_1"]
    assert 0 < hits["low"] <= hits["mean"] <= hits["high"] <= 1
    assert hits["n"] == 12 * REPEATS
    assert report["what"]["dataset"]["sha256"]
    assert report["what"]["graph"]["loads"][0]["sha256"]
    assert report["what"]["recipe"]["similarity"]["beam_width"] == 10
    kinds = report["misses"]["kinds"]
    assert sum(kind["share"] for kind in kinds.values()) == pytest.approx(1)
    assert kinds["not in the graph"]["num"] >= REPEATS
    assert {"topics", "encode", "hop 1", "answer", "total"} <= set(report["cost"]["stages"])
    page = (tmp_path / "run" / "report.html").read_text()
    assert not re.search(r"(?:src|href)=\"(?!#)|url\((?!#)|@import", page)


def test_two_runs_are_compared_and_one_is_shown(lodestar: Lodestar, questions: Path, tmp_path: Path) -> None:
    far, near = str(tmp_path / "far"), str(tmp_path / "near")
    assert lodestar("eval", str(questions), "--out", far).code == 0
    assert lodestar("eval", str(questions), "--recipe", "cosine", "--set", "max_hop=1", "--out", near).code == 0
    compared = json.loads(lodestar("eval", "compare", far, near, "--json").out)
    assert compared["num_questions"] == 12 * REPEATS
    test = compared["tests"]["path/hits_at_1_any"]
    assert test["interval"]["low"] <= test["difference"] <= test["interval"]["high"]
    assert "right in A alone" in lodestar("eval", "compare", far, near).out
    table = lodestar("eval", "table", far, near).out.splitlines()
    assert len(table) == 4
    assert "| similarity, 2 hops |" in table[2]
    shown = lodestar("eval", "show", far, "--kind", "not in the graph", "--limit", "1")
    missed = json.loads(Path(far, "report.json").read_text())["misses"]["kinds"]["not in the graph"]["num"]
    assert shown.out.splitlines()[0] == f"{missed} questions, 1 shown"
    assert missed >= REPEATS


def test_questions_are_asked_again_without_what_leads_to_their_answers(
    lodestar: Lodestar, questions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    options = ("--unanswerable", "--limit", "24", "--no-diagnosis", "--json", "--out", str(out))
    ran = lodestar("eval", str(questions), *options)
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert report["what"]["unanswerable"] is True
    records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    again = {record["id"]: record for record in records if record["excluded_relations"]}
    assert report["num_questions"] == 24
    assert 0 < report["num_without_relations"] == len(again) <= 24
    capitals = [record for id_, record in again.items() if "-0-m." in id_]
    assert capitals
    for record in capitals:
        assert "location.country.capital" in record["excluded_relations"]
        assert not any("capital" in relation for path in record["paths"] for relation in path["relations"])
    assert report["abstention"]["num_unanswerable"] >= len(again)


@pytest.mark.parametrize(
    ("arguments", "code", "fault"),
    [
        (["none.jsonl"], 3, "none.jsonl: no such file"),
        (["{questions}", "--recipe", "nova"], 2, "no recipe is called 'nova'"),
        (["{questions}", "--recipe", "star"], 2, "expected the folder of a checkpoint of kind star, found none"),
        (["{questions}", "--recipe", "star", "--set", "star.checkpoint=none"], 8, "expected a checkpoint"),
        (["{folder}"], 3, "expected a file of questions, found a folder: name one of its files, or a --split"),
        (["{folder}", "--split", "test"], 3, "expected one file of the split 'test', found no file"),
        (["show", "{folder}", "--kind", "lost"], 2, "--kind: expected one of failed, not linked"),
        (["show", "{folder}"], 3, "no records"),
        (["compare", "{folder}", "{folder}"], 3, "no records"),
    ],
)
def test_a_fault_is_one_line(
    lodestar: Lodestar, questions: Path, tmp_path: Path, arguments: list[str], code: int, fault: str
) -> None:
    given = [word.format(questions=questions, folder=tmp_path) for word in arguments]
    ran = lodestar("eval", *given)
    assert ran.code == code
    assert fault in ran.err.splitlines()[-1]
    assert not list(Path().glob("runs/*"))


def test_tokens_are_counted_and_a_model_that_fails_costs_a_question(
    lodestar: Lodestar, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(request: Request) -> Reply:
        if "king" in request.prompt:
            return status(400, code="context_length_exceeded")
        return says({"answers": [{"name": "Lima", "paths": [1]}]})

    with ScriptedLLM(reply for _ in range(1_000)) as llm:
        monkeypatch.setenv("LODESTAR_LLM_BASE_URL", llm.base_url)
        monkeypatch.setenv("LODESTAR_LLM_MODEL", "scripted")
        options = ("--recipe", "similarity-llm", "--json", "--out", str(tmp_path / "run"))
        ran = lodestar("eval", str(questions), *options)
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    num_failed = 2 * REPEATS
    assert len(report["failures"]) == report["misses"]["kinds"]["failed"]["num"] == num_failed
    assert report["failures"][0]["failure"].startswith("PromptTooLongError: ")
    assert report["figures"]["strict/hits_at_1"]["n"] == 12 * REPEATS
    assert report["cost"]["tokens"] == {"prompt": 1, "completion": 1}
    assert report["what"]["llm"] == "scripted"
