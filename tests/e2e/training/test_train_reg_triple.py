"""`lodestar train reg-triple` over a real graph, and its checkpoint wherever questions are asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar

pytestmark = pytest.mark.usefixtures("engine")


def question_file(path: Path, *asked: tuple[str, str, str]) -> str:
    rows = [
        {"id": f"{path.stem}-{place}", "question": text, "topic_entities": [topic], "answers": [answer]}
        for place, (text, topic, answer) in enumerate(asked)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_a_scorer_is_trained_and_asked(lodestar: Lodestar, tmp_path: Path) -> None:
    peru = ("What is the capital of Peru?", "m.peru", "m.lima")
    train = question_file(tmp_path / "train.jsonl", peru, ("Which currency is used in Peru?", "m.peru", "m.sol"))
    dev = question_file(tmp_path / "dev.jsonl", ("What is the capital of Chile?", "m.chile", "m.santiago"))
    out = str(tmp_path / "reg")
    command = ["train", "reg-triple", "--dataset", train, "--dev", dev, "--out", out, "--epochs", "2", "--json"]
    ran = lodestar(*command)
    assert ran.code == 0, ran.err
    figures = json.loads(ran.out)["figures"]["triple scorer"]
    assert 0 < figures["average_precision"] <= 1
    assert json.loads(lodestar(*command).out) == json.loads(ran.out)
    asked = lodestar(
        *("ask", "--json", "--recipe", "reg-triple + reorganise", "--checkpoint", out),
        *("--set", "top_k=50", "--set", "answerer.min_probability=0", "What is the capital of Chile?"),
    )
    assert asked.code == 0, asked.err
    assert {item["steps"][0]["relation"] for item in json.loads(asked.out)["items"]} > {"location.country.capital"}
    ran = lodestar("train", "reg-triple", "--dataset", train, "--dev", train, "--out", out)
    assert ran.code == 2
    assert "of its questions are in --dataset as well" in ran.err
    ran = lodestar("ask", "--paths-only", "--recipe", "reg-triple", "Who?")
    assert ran.code == 2
    assert "--set reg-triple.checkpoint=FOLDER" in ran.err
