"""The file of rejected lines: it takes nothing away that it was not told to, and is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.formats.delimited import TsvSource
from lodestar.loaders.source import Subset
from lodestar.loaders.stage import Stage


def fill(folder: Path, text: str, rejects: Path, *, most: int) -> int:
    (folder / "kg.tsv").write_text(text)
    with Stage(folder / "stage") as stage:
        source = TsvSource(str(folder / "kg.tsv"), has_header=False)
        return stage.fill(source, subset=Subset(), max_rejects=most, rejects_file=rejects).num_rejects


def test_the_file_has_the_rejects_where_there_are_any(tmp_path: Path) -> None:
    rejects, bad = tmp_path / "new" / "rejects.tsv", "a\tr\tb\nx\ny\n\tr\tb\n"
    with pytest.raises(InputError, match=r"3 lines rejected, more than --max-rejects 2: .*; all are in "):
        fill(tmp_path, bad, rejects, most=2)
    lines = rejects.read_text().splitlines()
    assert [line.split("\t")[0].rpartition("/")[2] for line in lines] == ["kg.tsv:2", "kg.tsv:3", "kg.tsv:4"]
    assert lines[0].split("\t")[2] == "'x'"
    rejects.unlink()
    assert fill(tmp_path, bad, rejects, most=3) == 3
    assert len(rejects.read_text().splitlines()) == 3
    fill(tmp_path, "a\tr\tb\n", rejects, most=3)
    assert list(rejects.parent.iterdir()) == []
