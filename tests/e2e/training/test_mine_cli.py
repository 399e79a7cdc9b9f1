"""`lodestar mine` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lodestar.models.mined import read_mined_file

from tests.e2e.conftest import Lodestar

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    asked = [
        ("What is the capital of Peru?", "m.peru", "m.lima"),
        ("What is the capital of Chile?", "m.chile", "m.santiago"),
        ("What is the capital of Utopia?", "m.utopia", "m.lima"),
    ]
    path = tmp_path / "countries-train.jsonl"
    lines = [{"question": text, "topic_entities": [topic], "answers": [answer]} for text, topic, answer in asked]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_file_is_written_and_what_is_in_it_is_said(lodestar: Lodestar, questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "mined.jsonl.gz"
    ran = lodestar("mine", str(questions), "--out", str(out))
    assert ran.code == 0, ran.err
    said = {name.strip(): int(number) for name, number in (line.rsplit(maxsplit=1) for line in ran.out.splitlines())}
    assert (said["questions"], said["left out: no topic in the graph"]) == (2, 1)
    assert f"2 questions to {out}" in ran.err
    assert read_mined_file(out).header.counts["questions"] == 2
