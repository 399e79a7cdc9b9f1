"""Files that tests write, and what is said of one that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lodestar.engine.errors import InputError


def written(folder: Path, content: bytes | str, name: str = "kg.tsv") -> str:
    """Write a file, line ends as they are, and return its path."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def refusal(read: Callable[[], object], error: type[Exception] = InputError) -> str:
    """Return what an error says, in one line."""
    with pytest.raises(error) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)
