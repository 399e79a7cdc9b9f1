"""Locks and folders that cannot be had are one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import StorageError, UsageError
from lodestar.engine.whole_file import lock_file
from lodestar.loaders.loads.loading import LoadOptions
from lodestar.loaders.loads.preview import preview

from tests.made.graphs import TripleSource


def test_a_lock_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()  # root may open the file of any other user
    with pytest.raises(StorageError, match=r"\.lock: cannot be locked: .+: name another folder, or remove this file"):  # noqa: SIM117
        with lock_file(tmp_path / ".lock", "busy"):
            pytest.fail("it is not held")


def test_a_lock_that_is_held_is_refused_as_it_was(tmp_path: Path) -> None:
    with lock_file(tmp_path / ".lock", "busy"), pytest.raises(UsageError, match="busy"):  # noqa: SIM117
        with lock_file(tmp_path / ".lock", "busy", refusal=UsageError("busy")):
            pytest.fail("it is held twice")


def test_a_place_to_convert_in_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    options = LoadOptions(staging=tmp_path / "file" / "home" / "staging")
    with pytest.raises(
        StorageError, match=r"staging: cannot be written: Not a directory: name another folder .*--home"
    ):
        preview(TripleSource([("a", "b", "c")]), options)
