"""Count the lines of a source that are no statements against a limit; keep them in a file with number and reason."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

from ...engine.errors import InputError, UsageError
from ...models.message_text import quote_line
from ...models.whole_file import atomic_write


def check_place(path: Path, is_read: Callable[[Path], bool]) -> None:
    """Raise `UsageError` where the file of rejects would take the place of what is read, or of what is no file."""
    if path.exists() and not path.is_file():
        raise UsageError(f"--rejects {path}: expected the name of a file to write, found a folder, a device or a pipe")
    if is_read(path):
        raise UsageError(f"--rejects {path}: this load reads that file: name another one for the rejected lines")


def check_no_overwrite(path: Path, *, force: bool) -> None:
    """Raise `UsageError` where there is a file already that was not to be overwritten."""
    if path.exists() and not force:
        raise UsageError(
            f"--rejects {path}: there is a file already: name another one, or give --force to overwrite it"
        )


class Rejects:
    """The rejects of one source: written beside their file, which is there from the end on, and only if there are any.

    Without a path they are counted only. Use it as a context manager.
    """

    def __init__(self, path: Path | None, limit: int) -> None:
        self._parts: list[str] = []
        self.next_row = 0
        """The first row of the statements that was not looked at yet."""
        self.num_rejects = 0
        self._path = path
        self._limit = limit
        self._first = ""
        self._open = ExitStack()
        self._file: IO[str] | None = None
        self._pending: list[tuple[int, str, str]] = []

    def add(self, line: int, reason: str, text: str) -> None:
        """Take a line that could not even be read as text."""
        self._pending.append((line, reason, text))

    def begin_part(self, shown: str) -> None:
        """Take what follows as said of this file, named as messages name it."""
        self._parts.append(shown)

    def take_over(self, found: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
        """Write the rejects down, in the order of their lines; return those that `add` took since the last time."""
        lines, self._pending = self._pending, []
        for line, reason, text in sorted(found + lines):
            self._write(self._parts[-1], line, reason, text)
        return lines

    def take_over_faults(self, found: list[tuple[int, int, str, str]]) -> None:
        """Write rejects down that were found after all was read, by part and line."""
        for part, line, reason, text in found:
            self._write(self._parts[part], line, reason, text)

    def check(self) -> None:
        """Raise `InputError` when there are more rejects than allowed."""
        if self.num_rejects <= self._limit:
            return
        if not self._limit:
            raise InputError(self._first)
        found = (
            f"{self.num_rejects:,} lines rejected, more than --max-rejects {self._limit:,}: the first is {self._first}"
        )
        raise InputError(f"{found}; all are in {self._path}" if self._path else found)

    def __enter__(self) -> Self:
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            draft = self._open.enter_context(atomic_write(self._path))
            self._file = self._open.enter_context(draft.open("w", encoding="utf-8"))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        if self._path and not self.num_rejects:
            self._path.unlink()

    def _write(self, part: str, line: int, reason: str, text: str | None) -> None:
        place = f"{part}:{line}" if line else part
        self.num_rejects += 1
        self._first = self._first or f"{place}: {reason}: {quote_line(text or '')}"
        if self._file:
            self._file.write(f"{place}\t{reason}\t{quote_line(text or '')}\n")
