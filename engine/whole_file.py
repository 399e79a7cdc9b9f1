"""What is written to a disk: whole files, and the one line for what cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..models.whole_file import whole
from .errors import StorageError


def write_whole(file: Path, text: str) -> None:
    """Write a file in UTF-8, in the place of what was there; raise `StorageError` where it cannot be written."""
    with storing(file), whole(file) as draft:
        draft.write_text(text, encoding="utf-8")


@contextmanager
def storing(place: Path | str) -> Iterator[None]:
    """Raise `StorageError` for an `OSError` of the block, which writes to `place`."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{place}: cannot be written: {error.strerror or error}") from error
