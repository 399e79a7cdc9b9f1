"""Locks and folders that cannot be had are one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.whole_file import lock_file


def test_a_lock_that_is_held_is_refused_as_it_was(tmp_path: Path) -> None:
    with lock_file(tmp_path / ".lock", "busy"), pytest.raises(UsageError, match="busy"):  # noqa: SIM117
        with lock_file(tmp_path / ".lock", "busy", refusal=UsageError("busy")):
            pytest.fail("it is held twice")
