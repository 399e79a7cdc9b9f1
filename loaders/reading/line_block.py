"""Lines in the bytes that they were read in: where each begins and ends, nothing copied."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

LINES = pa.schema([("line", pa.int64()), ("text", pa.string_view())])

INLINE_BYTES = 12
"""What the data of a block has to spare at its end; Arrow's views hold texts of up to this length themselves."""
_PREFIX_BYTES = 4

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.bool_]

Reject = tuple[int, str, str]
"""A line's number, why it is left out, and as much of it as may stand in a message."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Line number `numbers[i]` is ``data[starts[i]:ends[i]]``, UTF-8 without a zero byte; lines are in their order.

    `rejects` are lines between these that cannot be read.
    """

    data: Bytes
    numbers: Positions
    starts: Positions
    ends: Positions
    rejects: tuple[Reject, ...] = ()

    def as_batch(self) -> pa.RecordBatch:
        """Return the lines as `LINES`: views into the data (length, then the text or prefix and place)."""
        lengths = self.ends - self.starts
        views = np.zeros((len(lengths), 4), np.int32)
        views[:, 0] = lengths
        inline = lengths <= INLINE_BYTES
        if inline.any():
            texts = np.lib.stride_tricks.sliding_window_view(self.data, INLINE_BYTES)[self.starts[inline]]
            texts[np.arange(INLINE_BYTES) >= lengths[inline, np.newaxis]] = 0
            views[inline, 1:] = texts.view(np.int32)
        if not inline.all():
            prefixes = np.lib.stride_tricks.sliding_window_view(self.data, _PREFIX_BYTES)[self.starts[~inline]]
            views[~inline, 1] = prefixes.view(np.int32)[:, 0]
            views[~inline, 3] = self.starts[~inline]
        texts_of = pa.Array.from_buffers(
            pa.string_view(), len(lengths), [None, pa.py_buffer(views.reshape(-1)), pa.py_buffer(self.data)]
        )
        return pa.record_batch([pa.array(self.numbers), texts_of], schema=LINES)
