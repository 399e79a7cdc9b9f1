"""docs/own-graph.md is run as it stands: its files, its commands, in their order."""

from __future__ import annotations

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
    assert "Cid Cedar" in said['$ lodestar ask --checkpoint scorer "Who leads the Laboratory?"']
    assert "how many" in said['$ lodestar ask --checkpoint scorer --forms "How many people work in Sales?"']
    good_at = said['$ lodestar ask "What is Dot Dogwood good at?"']
    assert "Chess" in good_at
    assert "has skill" in good_at.splitlines()[-1]
    assert "→ user: what can somebody do; good at" in said['$ lodestar describe "has skill" --show']
    assert (tmp_path / "report" / "report.html").exists()
    assert (tmp_path / "scorer" / "README.md").exists()
