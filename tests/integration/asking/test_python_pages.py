"""The Python on the pages for Python and frameworks runs, against a real graph, and its types are right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from lodestar import Engine

from tests.places import ROOT

PAGES = ("evidence.md", "frameworks.md", "langchain.md", "python.md")
BLOCKS = [
    (page, number, block)
    for page in PAGES
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


@pytest.mark.long
def test_its_types_are_right(tmp_path: Path) -> None:
    files = [tmp_path / f"{page.removesuffix('.md')}_{number}.py" for page, number, _ in BLOCKS]
    for file, (_, _, block) in zip(files, BLOCKS, strict=True):
        file.write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *map(str, files)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
