"""`lodestar mine` as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.gold_questions import GoldQuestion
from lodestar.engine.supervision import mining
from lodestar.engine.supervision.mining import Miner
from lodestar.models.star.mined import MinedFile, read_mined_file

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
    assert read_mined_file(out).mining.counts["questions"] == 2


def test_json(lodestar: Lodestar, questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "mined.jsonl"
    ran = lodestar("mine", str(questions), "--out", str(out), "--json", "--limit", "1", "--max-hop", "1")
    assert ran.code == 0, ran.err
    printed = json.loads(ran.out)
    assert printed["out"] == str(out)
    mined = read_mined_file(out)
    assert printed["counts"] == mined.mining.counts
    assert (mined.mining.max_hop, len(mined.questions)) == (1, 1)


def test_questions_about_another_graph_are_one_line_and_exit_5(lodestar: Lodestar, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"question": "what?", "topic_entities": ["m.0zz"], "answers": ["m.0yy"]}\n')
    ran = lodestar("mine", str(path), "--out", str(tmp_path / "mined.jsonl"))
    assert ran.code == 5
    assert ran.err.splitlines()[-1].startswith(
        "lodestar: other.jsonl: expected questions about this graph, found 1 with no topic in the graph"
    )
    assert not (tmp_path / "mined.jsonl").exists()


def test_a_folder_that_is_not_there_is_one_line_and_exit_10(
    lodestar: Lodestar, questions: Path, tmp_path: Path
) -> None:
    ran = lodestar("mine", str(questions), "--out", str(tmp_path / "nowhere" / "mined.jsonl"))
    assert ran.code == 10
    assert "cannot be written" in ran.err


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/mined.jsonl", "/proc/mined.jsonl"])
def test_a_device_is_not_replaced_and_a_place_under_one_is_one_line(
    place: str, lodestar: Lodestar, questions: Path
) -> None:
    ran = lodestar("mine", str(questions), "--out", place)
    assert ran.code == 10
    assert ran.err.splitlines()[-1].startswith(f"lodestar: {place}: cannot be written")
    assert Path("/dev/null").is_char_device()


def test_a_file_is_replaced_only_when_told_to(lodestar: Lodestar, questions: Path) -> None:
    before = questions.read_bytes()
    ran = lodestar("mine", str(questions), "--out", str(questions))
    assert ran.code == 2
    assert "this command reads that file" in ran.err
    assert questions.read_bytes() == before
    arguments = ("mine", str(questions), "--out", str(questions.with_name("mined.jsonl")))
    assert [lodestar(*arguments, *options).code for options in ((), (), ("--force",))] == [0, 2, 0]


def test_how_many_negatives_and_how_many_questions_at_a_time(
    lodestar: Lodestar, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    mine_batch = mining.mine_batch

    def watch(miner: Miner, asked: Sequence[GoldQuestion], run: Any) -> Any:
        sizes.append(len(asked))
        return mine_batch(miner, asked, run)

    monkeypatch.setattr(mining, "mine_batch", watch)

    def mined(name: str, *options: str) -> MinedFile:
        assert lodestar("mine", str(questions), "--out", str(tmp_path / name), *options).code == 0
        return read_mined_file(tmp_path / name)

    usual, without = mined("usual"), mined("without", "--negatives", "0", "--batch-size", "2")
    assert sizes == [3, 2, 1]
    assert all(question.negatives for question in usual.questions)
    assert not any(question.negatives for question in without.questions)


def test_a_topic_is_an_answer_where_that_is_allowed(lodestar: Lodestar, tmp_path: Path) -> None:
    path = tmp_path / "itself.jsonl"
    row = {"question": "Where is the neighbour of its neighbour?", "topic_entities": ["m.peru"], "answers": ["m.peru"]}
    path.write_text(json.dumps(row) + "\n")
    found = [
        json.loads(lodestar("mine", str(path), "--json", "--force", "--out", str(tmp_path / "out"), *flag).out or "{}")
        for flag in ((), ("--return-to-topic",))
    ]
    assert [each.get("counts", {}).get("positive paths", 0) > 0 for each in found] == [False, True]
