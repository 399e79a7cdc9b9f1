"""lodestar mine, and a kind of model that is not Lodestar's own: trained, asked, evaluated and examined."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest
from lodestar.models.mined_files import read_mined_file

from tests.e2e.conftest import Lodestar, question_file

pytestmark = pytest.mark.usefixtures("engine")

KIND = "tests.toy_kind:KIND"
RECIPE = """
stages = "toy"
top_k = 20

[parts]
toy = "tests.toy_kind:Toy"
"""


@pytest.mark.long
def test_a_kind_of_one_file_is_trained_asked_evaluated_and_examined(
    lodestar: Lodestar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peru = ("What is the capital of Peru?", "m.peru", "m.lima")
    train = question_file(tmp_path / "train.jsonl", peru, ("Which currency is used in Peru?", "m.peru", "m.sol"))
    dev = question_file(tmp_path / "dev.jsonl", ("What is the capital of Chile?", "m.chile", "m.santiago"))
    out = str(tmp_path / "toy")
    command = ["train", KIND, "--dataset", train, "--dev", dev, "--out", out, "--json"]
    ran = lodestar(*command)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["figures"]["toy scorer"]["average_precision"] == 1
    (tmp_path / "toy.toml").write_text(RECIPE, encoding="utf-8")
    recipe = ["--recipe", str(tmp_path / "toy.toml"), "--set", f"toy.checkpoint={out}", "--allow-parts"]
    asked = lodestar("ask", "--paths-only", "--json", *recipe, "What is the capital of Chile?")
    assert asked.code == 0, asked.err
    assert json.loads(asked.out)["items"][0]["triples"][0]["relation"] == "location.country.capital"
    report = lodestar("eval", dev, *recipe, "--no-diagnosis", "--json", "--out", str(tmp_path / "run"))
    assert report.code == 0, report.err
    entry = importlib.metadata.EntryPoint("toy", KIND, "lodestar.kinds")
    monkeypatch.setattr("lodestar.models.kinds.entry_points", lambda group: [entry] if group == entry.group else [])
    assert "toy" in lodestar("train", "--help").out


def test_a_kind_that_is_not_there_is_one_line(lodestar: Lodestar) -> None:
    ran = lodestar("train", "tests.toy_kind:NOTHING", "--help")
    assert ran.code == 2
    assert "cannot be imported" in ran.err


def test_a_file_is_written_and_what_is_in_it_is_said(lodestar: Lodestar, tmp_path: Path) -> None:
    chile, utopia = ("capital of Chile?", "m.chile", "m.santiago"), ("capital of Utopia?", "m.utopia", "m.lima")
    questions = question_file(tmp_path / "train.jsonl", ("capital of Peru?", "m.peru", "m.lima"), chile, utopia)
    out = tmp_path / "mined.jsonl.gz"
    ran = lodestar("mine", questions, "--out", str(out))
    assert ran.code == 0, ran.err
    said = {name.strip(): int(number) for name, number in (line.rsplit(maxsplit=1) for line in ran.out.splitlines())}
    assert (said["questions"], said["left out: no topic in the graph"]) == (2, 1)
    assert f"2 questions to {out}" in ran.err
    assert read_mined_file(out).header.counts["questions"] == 2
