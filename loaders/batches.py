"""Things in groups of a size, and of a number of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import pyarrow as pa

from ..engine.database.requests import MAX_REQUEST_CHARS

T = TypeVar("T")


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last one shorter."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def in_bytes(batches: Iterable[pa.RecordBatch], max_bytes: int = MAX_REQUEST_CHARS) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the batches in batches of about so many bytes, and of at least a row."""
    for batch in batches:
        if batch.nbytes <= max_bytes or batch.num_rows <= 1:
            yield batch
        else:
            half = batch.num_rows // 2
            yield from in_bytes((batch.slice(0, half), batch.slice(half)), max_bytes)
