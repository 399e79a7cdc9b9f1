"""The file of rejected lines: it takes nothing away that it was not told to, and is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.stage import Rejects


def test_the_file_has_the_rejects_where_there_are_any(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rejects.tsv"
    rejects = Rejects(path, 1)
    rejects.begin_part("kg.tsv")
    rejects.add(3, "no triple", "y")
    rejects.add(2, "no triple", "x")
    rejects.take_over([])
    with pytest.raises(InputError, match=r"2 lines rejected, more than --max-rejects 1: .*; all are in "):
        rejects.check()
    rejects.write()
    assert path.read_text() == "kg.tsv:2\tno triple\t'x'\nkg.tsv:3\tno triple\t'y'\n"
    Rejects(path, 1).write()
    assert list(path.parent.iterdir()) == []
