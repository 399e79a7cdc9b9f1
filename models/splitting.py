"""Split batches that do not fit into a device's memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class BatchSplitter:
    """Computes on batches; halves a batch of more than `most` rows, or one that runs out of memory, until it fits.

    A size that failed is not tried again. Rows must be independent; results may differ in the last digits with the
    batch.
    """

    def __init__(self, most: float = math.inf) -> None:
        self.most = most

    def __call__(self, batch: Any, compute: Callable[[Any], Tensor]) -> Tensor:
        """Return the results of `compute` row by row; raise its error if a single row does not fit.

        batch: a list, a tensor, or anything else with rows and slices.
        """
        results: list[Tensor] = []
        waiting = [batch]
        while waiting:
            part = waiting.pop()
            if len(part) > self.most:
                half = (len(part) + 1) // 2
                waiting += [part[half:], part[:half]]
                continue
            try:
                results.append(compute(part))
                continue
            except RuntimeError as error:
                if len(part) < 2 or not is_out_of_memory(error):
                    raise
            waiting.append(part)  # the error, and the tensors it held, are released here
            self.most = (len(part) + 1) // 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        return torch.cat(results)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether a device or the processor ran out of memory; only CUDA has its own error for it."""
    message = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in message or "can't allocate memory" in message
