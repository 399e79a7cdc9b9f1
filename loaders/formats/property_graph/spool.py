"""Keep what was read from a database on disk, page by page, so that an interrupted reading goes on where it was.

A page is a file of rows, written whole. A state beside them says how far each part is, what was left out, and the hash
of the rows so far, which does not depend on interruptions.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa

from ....engine.whole_file import translate_storage_errors
from ....models.whole_file import atomic_write
from ...rows import BATCH_ROWS, ROWS, StatementRow

MAX_AGE_S = 24 * 3_600
"""What was read longer ago is read again: the database may have changed."""
MAX_BATCH_CHARS = 16_000_000
FORMAT = 1


@dataclass(slots=True)
class SpoolState:
    """How far the reading is: for each part its pages, and the number in the element ids that is read next."""

    started_s: float = field(default_factory=time.time)
    pages: dict[str, int] = field(default_factory=dict)
    next: dict[str, int] = field(default_factory=dict)
    digest: str = ""
    num_rows: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    format: int = FORMAT


class Spool:
    """The rows of a database in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = self._read_state()

    @property
    def is_begun(self) -> bool:
        """Whether pages are there from an earlier reading."""
        return bool(self.state.pages)

    @property
    def size_bytes(self) -> int:
        """The size of all pages."""
        return sum(path.stat().st_size for path in self.folder.glob("*.arrow"))

    def add(self, part: str, rows: Iterable[StatementRow], next_number: int, left_out: Counter[str]) -> None:
        """Write a page of a part, after which the reading goes on at `next_number`; `left_out` fills as it is read.

        Raises `StorageError` if there is no room.
        """
        digest = hashlib.sha256(self.state.digest.encode())
        number = self.state.pages.get(part, 0)
        num_rows = 0
        with translate_storage_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._page(part, number)) as draft, pa.OSFile(str(draft), "wb") as sink:
                options = pa.ipc.IpcWriteOptions(compression="zstd")
                with pa.ipc.new_file(sink, ROWS, options=options) as writer:
                    for batch in _batches(rows):
                        num_rows += batch.num_rows
                        _hash_batch(digest, batch)
                        writer.write_batch(batch)
            self.state = SpoolState(
                started_s=self.state.started_s,
                pages=self.state.pages | {part: number + 1},
                next=self.state.next | {part: next_number},
                digest=digest.hexdigest(),
                num_rows=self.state.num_rows + num_rows,
                left_out=dict(Counter(self.state.left_out) + left_out),
            )
            with atomic_write(self.folder / _STATE) as draft:
                draft.write_text(json.dumps(asdict(self.state)), encoding="utf-8")

    def batches(self, part: str) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the batches of a part, each with the size of the pages that are read with it."""
        done_bytes = 0
        for number in range(self.state.pages.get(part, 0)):
            path = self._page(part, number)
            done_bytes += path.stat().st_size
            with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
                for place in range(reader.num_record_batches):
                    yield reader.get_batch(place), done_bytes

    def delete(self) -> None:
        """Delete everything; the next reading begins anew."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.state = SpoolState()

    def _page(self, part: str, number: int) -> Path:
        return self.folder / f"{part}-{number:07}.arrow"

    def _read_state(self) -> SpoolState:
        try:
            state = SpoolState(**json.loads((self.folder / _STATE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            state = None
        if state is None or state.format != FORMAT or time.time() - state.started_s > MAX_AGE_S:
            shutil.rmtree(self.folder, ignore_errors=True)
            return SpoolState()
        return state


_STATE = "state.json"


def _batches(rows: Iterable[StatementRow]) -> Iterator[pa.RecordBatch]:
    """Yield rows as batches that are bounded in rows and in characters."""
    batch: list[StatementRow] = []
    chars = 0
    for row in rows:
        batch.append(row)
        chars += len(row.head or "") + len(row.tail or "")
        if len(batch) == BATCH_ROWS or chars > MAX_BATCH_CHARS:
            yield _batch(batch)
            batch, chars = [], 0
    if batch:
        yield _batch(batch)


def _batch(rows: list[StatementRow]) -> pa.RecordBatch:
    columns = zip(zip(*rows, strict=True), ROWS, strict=True)
    return pa.record_batch([pa.array(column, of.type) for column, of in columns], schema=ROWS)


def _hash_batch(digest: hashlib._Hash, batch: pa.RecordBatch) -> None:
    """Update a hash by what a batch says, whatever its rows' numbers are."""
    for column in batch.columns[1:]:
        for buffer in column.buffers():
            digest.update(buffer if buffer is not None else b"-")
