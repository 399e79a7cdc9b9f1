"""What is written to a disk: whole files, and the one line for what cannot be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..models.whole_file import check_place, whole
from .errors import StorageError, UsageError


def write_whole(file: Path, text: str) -> None:
    """Write a file in UTF-8, in the place of what was there; raise `StorageError` where it cannot be written."""
    with storing(file), whole(file) as draft:
        draft.write_text(text, encoding="utf-8")


def check_output(option: str, file: Path, *, reads: Iterable[str | Path] = (), force: bool = False) -> None:
    """Raise an error unless a file may be written: the rule of every verb that writes.

    option: what names the file, for messages. reads: what the verb reads, which no file takes the place of. force:
    whether it may take the place of a file that is there; of an empty one it always may. What is no regular file, as a
    pipe, is left to the writer. Raises `UsageError`, and `StorageError` where nothing can be written there.
    """
    shown = f"{option} {file}" if option else str(file)
    if not file.parent.is_dir():
        raise StorageError(f"{file}: cannot be written: no such folder: make it, or name another")
    with storing(file):
        if not file.exists():
            check_place(file)
        elif file.is_dir():
            raise UsageError(f"{shown}: expected the name of a file to write, found a folder")
        elif file.is_file():
            if any(Path(read).exists() and file.samefile(read) for read in reads):
                raise UsageError(f"{shown}: this command reads that file: name another one to write")
            if file.stat().st_size and not force:
                raise UsageError(f"{shown}: there is a file already: name another one, or give --force to replace it")
            check_place(file)


@contextmanager
def storing(place: Path | str) -> Iterator[None]:
    """Raise `StorageError` for an `OSError` of the block, which writes to `place`."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{place}: cannot be written: {error.strerror or error}") from error
