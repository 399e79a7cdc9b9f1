"""Things in groups of a size, and of a number of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import pyarrow as pa

T = TypeVar("T")

MAX_BYTES = 4_000_000
"""Of the texts of a batch: the database holds it several times over while it is written."""


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last one shorter."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def in_bytes(batches: Iterable[pa.RecordBatch], max_bytes: int = MAX_BYTES) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the batches in batches of about so many bytes, and of at least a row."""
    for batch in batches:
        if batch.nbytes <= max_bytes or batch.num_rows <= 1:
            yield batch
        else:
            half = batch.num_rows // 2
            yield from in_bytes((batch.slice(0, half), batch.slice(half)), max_bytes)


def in_texts(rows: Iterable[Sequence[str]], size: int, max_chars: int = MAX_BYTES) -> Iterator[list[Sequence[str]]]:
    """Yield rows of texts in lists of `size` at most, and of about so many characters."""
    batch: list[Sequence[str]] = []
    chars = 0
    for row in rows:
        batch.append(row)
        chars += sum(map(len, row))
        if len(batch) == size or chars >= max_chars:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch
