"""The records of a run on disk: one JSON object a line, added as questions finish, whole or not at all."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import IO, Self

from ....models.one_line import one_line
from ....models.training.decoding import decoded
from ...errors import InputError
from ...whole_file import storing
from .record import Record


class RecordsFile:
    """Adds records behind those that are there. A line that a kill cut short is taken off first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._adding = threading.Lock()
        self._file: IO[bytes] | None = None

    def read(self) -> list[Record]:
        """Return the records that are whole, in the order they were written; raise `InputError` for what is none."""
        if not self.path.exists():
            return []
        records = []
        for number, line in enumerate(self._whole(), start=1):
            try:
                records.append(decoded(Record, line))
            except (ValueError, RecursionError) as error:
                raise InputError(f"{self.path}:{number}: expected a record of a run: {one_line(error)}") from error
        return records

    def add(self, record: Record) -> None:
        """Write a record to the disk before returning; threads may share the file."""
        line = json.dumps(record.as_json(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with self._adding, storing(self.path):
            assert self._file
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        with storing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = sum(map(len, self._whole())) if self.path.exists() else 0
            self._file = self.path.open("ab")
            self._file.truncate(whole)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _whole(self) -> list[bytes]:
        return [line for line in self.path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
