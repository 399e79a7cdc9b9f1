"""What a source has that is no statement: counted against a limit, and kept in a file with line number and reason."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Self

from ...engine.errors import InputError
from ..shown import shown


class Rejects:
    """The rejects of one source. The file is made at the first of them."""

    def __init__(self, path: Path, limit: int) -> None:
        self._parts: list[str] = []
        self.next_row = 0
        """The first row of the statements that was not looked at yet."""
        self.num_rejects = 0
        self._path = path
        self._limit = limit
        self._first = ""
        self._file: IO[str] | None = None
        self._pending: list[tuple[int, str, str]] = []
        path.unlink(missing_ok=True)

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
        raise InputError(
            f"{self.num_rejects:,} lines rejected, more than --max-rejects {self._limit:,}: the first is "
            f"{self._first}; "
            f"all are in {self._path}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def _write(self, part: str, line: int, reason: str, text: str | None) -> None:
        place = f"{part}:{line}" if line else part
        self.num_rejects += 1
        self._first = self._first or f"{place}: {reason}: {shown(text or '')}"
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("w", encoding="utf-8")
        self._file.write(f"{place}\t{reason}\t{shown(text or '')}\n")
