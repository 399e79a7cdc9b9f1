"""docs/own-graph.md is run as it stands: its files, its commands, in their order."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar
from tests.places import ROOT

PAGE = ROOT / "docs" / "own-graph.md"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.usefixtures("empty_graph")
def test_the_page(lodestar: Lodestar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, name in (("tsv", "team.tsv"), ("jsonl", "asked.jsonl")):
        (text,) = blocks(kind)
        Path(name).write_text(text, encoding="utf-8")
    said: dict[str, str] = {}
    for line in "".join(blocks("console")).splitlines():
        program, *arguments = shlex.split(line.removeprefix("$ "))
        assert program == "lodestar"
        ran = lodestar(*arguments)
        assert ran.code == 0, (line, ran.err)
        said[line] = ran.out
    (shown,) = blocks("text")
    before, after = shown.rstrip().split("\n  …\n")
    answer = said['$ lodestar ask "Who leads the Laboratory?"'].rstrip()
    assert answer.startswith(before + "\n")
    assert answer.endswith("\n" + after)
    assert "Cid Cedar" in said['$ lodestar ask --checkpoint scorer "Who leads the Laboratory?"']
    assert "how many" in said['$ lodestar ask --checkpoint scorer --forms "How many people work in Sales?"']
    good_at = said['$ lodestar ask "What is Dot Dogwood good at?"']
    assert "Chess" in good_at
    assert good_at.splitlines()[-1].strip().startswith("has skill read as “")
    assert "→ user: what can somebody do; good at" in said['$ lodestar describe "has skill" --show']
    assert (tmp_path / "report" / "report.html").exists()
    assert (tmp_path / "scorer" / "README.md").exists()


@pytest.mark.usefixtures("empty_graph")
def test_a_scorer_that_is_not_better_than_none_is_not_written_without_force(lodestar: Lodestar) -> None:
    """The weight of the similarity beside it is so high that the order stays as it is without training."""
    (text,) = blocks("tsv")
    Path("team.tsv").write_text(text, encoding="utf-8")
    assert lodestar("load", "tsv", "team.tsv", "--header", "no").code == 0
    assert lodestar("describe", "has skill", "what can somebody do", "good at", "knows how to").code == 0
    train = (
        "train", "star", "--from-graph", "--questions", "40", "--epochs", "1", "--scorer", "similarity", "--out", "scorer",
        "--set", "dual.similarity=100",
    )  # fmt: skip
    ran = lodestar(*train)
    assert ran.code == 1, ran.err
    assert "dev questions the trained scorer has" in ran.err
    assert "no checkpoint is written: ask without one, describe relations by more phrases" in ran.err.splitlines()[-1]
    assert not Path("scorer", "star.json").exists()
    ran = lodestar(*train, "--force")
    assert ran.code == 0, ran.err
    description = json.loads(Path("scorer", "star.json").read_text())
    assert (description["phrases"], description["meaning"]) == (2, True)
    figures = description["figures"]
    assert figures["dual encoder"]["selection_metric"] <= figures["without training"]["selection_metric"]
    assert "Chess" in lodestar("ask", "--checkpoint", "scorer", "What is Dot Dogwood good at?").out
