"""`lodestar train gril` over a real graph, and its checkpoint where questions are asked."""

from __future__ import annotations

import json
from pathlib import Path

import neo4j
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


def test_a_retriever_is_trained_and_asked(lodestar: Lodestar, driver: neo4j.Driver, tmp_path: Path) -> None:
    peru = ("What is the capital of Peru?", "m.peru", "m.lima")
    train = question_file(tmp_path / "train.jsonl", peru, ("Which currency is used in Peru?", "m.peru", "m.sol"))
    dev = question_file(tmp_path / "dev.jsonl", ("What is the capital of Chile?", "m.chile", "m.santiago"))
    out = str(tmp_path / "gril")
    command = ["train", "gril", "--dataset", train, "--dev", dev, "--out", out, "--epochs", "2", "--json"]
    ran = lodestar(*command, "--set", "hidden=32", "--set", "grow.pruning=none")
    assert ran.code == 0, ran.err
    figures = json.loads(ran.out)["figures"]["graph retriever"]
    assert 0 < figures["average_precision"] <= 1
    asked = lodestar(
        *("ask", "--json", "--recipe", "gril + reorganise", "--checkpoint", out),
        *("--set", "top_k=50", "--set", "answerer.min_probability=0", "What is the capital of Chile?"),
    )
    assert asked.code == 0, asked.err
    assert {item["triples"][0]["relation"] for item in json.loads(asked.out)["items"]} > {"location.country.capital"}
    few = lodestar(
        *("ask", "--paths-only", "--json", "--recipe", "gril + adaptive-k", "--checkpoint", out),
        *(
            "--set",
            f"adaptive-k.checkpoint={out}",
            "--set",
            "adaptive-k.per_hop=1",
            "--set",
            "top_k=100",
            "What is the capital of Chile?",
        ),
    )
    assert few.code == 0, few.err
    assert 1 <= len(json.loads(few.out)["items"]) <= 4
    ran = lodestar(*command, "--set", "grow.pruning=sometimes")
    assert ran.code == 2
    assert "grow.pruning: input should be 'threshold', 'top-k' or 'none', found 'sometimes'" in ran.err
