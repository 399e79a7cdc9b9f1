"""`lodestar eval` as a user runs it: what its report says, runs that are killed and resumed, and compared."""

from __future__ import annotations

import json
import shlex
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


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    lines: list[dict[str, Any]] = [
        {"id": f"{i}-{topic}", "question": text.format(NAMES[topic]), "topic_entities": [topic], "answers": found}
        for i, (text, answers) in enumerate(ASKED)
        for topic, found in answers.items()
    ]
    path = tmp_path / "countries-dev.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def figures(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    for changing in ("where", "cost"):
        del report[changing]
    report["calibration"]["ece"] = round(report["calibration"]["ece"], 4)
    return report


def test_one_run_is_reported_compared_asked_again_and_finished_where_it_was_cut_off(
    lodestar: Lodestar, questions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    ran = lodestar("eval", str(questions), "--json", "--out", str(out))
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    assert report["num_questions"] == 12
    assert report["num_questions"] - report["num_right"] == report["misses"]["num"] == len(report["wrong"])
    hits = report["figures"]["strict/hits_at_1"]
    assert 0 < hits["low"] <= hits["mean"] <= hits["high"] <= 1
    assert hits["n"] == 12
    assert report["what"]["dataset"]["sha256"]
    assert report["what"]["graph"]["loads"][0]["sha256"]
    assert report["what"]["recipe"]["similarity"]["beam_width"] == 10
    kinds = report["misses"]["kinds"]
    assert sum(kind["share"] for kind in kinds.values()) == pytest.approx(1)
    assert kinds["not in the graph"]["num"] == 1
    assert {"topics", "score 1", "hop 1", "answer", "total"} <= set(report["cost"]["stages"])

    wrong = report["wrong"][0]
    asked = lodestar(*shlex.split(wrong["ask"])[1:], "--json")
    assert [each["name"] for each in json.loads(asked.out)["answers"]] == wrong["answered"]

    before = (out / "records.jsonl").read_bytes()
    same = lodestar("eval", str(questions), "--out", str(out), "--against", str(out))
    assert same.code == 0, same.err
    assert (out / "records.jsonl").read_bytes() == before
    assert same.out.splitlines()[2].startswith(f"**{report['num_right']} of 12 right")
    assert same.out.startswith((out / "report.md").read_text()[:60])
    assert "right in this run alone: 0" in same.out

    whole = figures(out)
    (out / "records.jsonl").write_bytes(b"".join(before.splitlines(keepends=True)[:5]) + b'{"id": "cut')
    (out / "report.json").unlink()
    assert lodestar("eval", str(questions), "--out", str(out), "--workers", "2").code == 0
    assert figures(out) == whole
    assert len((out / "records.jsonl").read_text().splitlines()) == 12


@pytest.mark.parametrize(
    ("arguments", "code", "fault"),
    [
        (["{questions}", "--recipe", "gril"], 2, "expected the folder of a checkpoint of kind gril, found none"),
        (["{questions}", "--recipe", "star", "--set", "star.checkpoint=none"], 8, "expected a checkpoint"),
        (["{folder}"], 3, "found a folder"),
        (["{questions}", "--against", "{folder}"], 3, "expected the folder of a run, found no records"),
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
    assert len(report["failures"]) == report["misses"]["kinds"]["failed"]["num"] == 2
    assert report["failures"][0]["failure"].startswith("PromptTooLongError: ")
    assert report["figures"]["strict/hits_at_1"]["n"] == 12
    assert report["cost"]["tokens"] == {"prompt": 1, "completion": 1}
    assert report["what"]["llm"] == "scripted"
