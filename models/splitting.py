"""Split batches that do not fit into a device's memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor


class Batch(Protocol):
    """Anything with rows: a list, a tensor, a batch of texts."""

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def __getitem__(self, rows: slice, /) -> Self:
        """Return some of the rows."""
        ...


BatchT = TypeVar("BatchT", bound=Batch)


class Splitting:
    """Computes on batches; one of more than `most` rows, or that the device has no memory for, is halved until it fits.

    What did not fit once is not tried again. Rows must not depend on one another; their results may differ in the last
    digits by the rows they are computed with.
    """

    def __init__(self, most: float = math.inf) -> None:
        self.most = most

    def __call__(self, batch: BatchT, compute: Callable[[BatchT], Tensor]) -> Tensor:
        """Return what `compute` returns of the rows, one after the other; raise its error where one row is too much."""
        found: list[Tensor] = []
        waiting = [batch]
        while waiting:
            part = waiting.pop()
            if len(part) > self.most:
                half = (len(part) + 1) // 2
                waiting += [part[half:], part[:half]]
                continue
            try:
                found.append(compute(part))
                continue
            except RuntimeError as error:
                if len(part) < 2 or not is_out_of_memory(error):
                    raise
            waiting.append(part)  # the error is gone here, and with it what it held
            self.most = (len(part) + 1) // 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        return torch.cat(found)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether a device, or the processor, had no memory left; only CUDA has an error of its own for it."""
    said = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in said or "can't allocate memory" in said
