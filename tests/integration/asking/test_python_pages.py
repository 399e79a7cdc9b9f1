"""The Python of the pages runs against a real graph."""

from __future__ import annotations

import re

import pytest
from lodestar import Engine

from tests.places import ROOT

PAGES = ("how-it-works.md", "python.md")
BLOCKS = [
    (page, number, block)
    for page in PAGES
    if (ROOT / "docs" / page).exists()
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    )
]


@pytest.mark.parametrize(("page", "number", "block"), BLOCKS, ids=[f"{page}-{number}" for page, number, _ in BLOCKS])
def test_it_runs(
    engine: Engine,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    page: str,
    number: int,
    block: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    exec(compile(block, f"{page}-{number}", "exec"), {"__name__": "page"})
    if "print(" in block:
        assert "Lima" in capsys.readouterr().out
