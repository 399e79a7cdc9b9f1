"""The file of rejected lines: it takes nothing away that it was not told to, and is there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.stage import Rejects


def test_rejects_appear_at_the_end_whatever_that_is(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rejects.tsv"
    with (
        pytest.raises(InputError, match=r"2 lines rejected, more than --max-rejects 1: .*; all are in "),
        Rejects(path, 1) as rejects,
    ):
        rejects.begin_part("kg.tsv")
        rejects.add(2, "no triple", "x")
        rejects.add(3, "no triple", "y")
        rejects.take_over([])
        assert not path.exists()
        rejects.check()
    assert path.read_text() == "kg.tsv:2\tno triple\t'x'\nkg.tsv:3\tno triple\t'y'\n"
    with Rejects(path, 1):
        pass
    assert list(path.parent.iterdir()) == []
