"""Choose device, precision and size of batches of all networks, copy batches, and limit BLAS to one thread.

The matrices of a question are small, and OpenBLAS's threads wait for the next product in a loop: with two threads a
question took twice the processor time, and the database beside it was slower.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    import torch
    from threadpoolctl import ThreadpoolController


T = TypeVar("T")
R = TypeVar("R")

DEVICES = ("auto", "cpu", "cuda", "cuda:N", "mps")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")

_DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/dxg"), Path("/dev/kfd"))
"""Driver files of machines with a GPU: NVIDIA's, WSL's, AMD's."""


Call = Literal["round_trips", "searches", "batches"]
"""A request to the database, a search among vectors (FAISS), or a batch that a network computes on its device."""
on_call: ContextVar[Callable[[Call], None]] = ContextVar("on_call", default=lambda _call: None)
"""Called before each call; the trace of a question counts them."""


def count_call(call: Call) -> None:
    on_call.get()(call)


class PlacementError(ValueError):
    """The device is missing, or cannot compute in this precision."""


@dataclass(frozen=True)
class Placement:
    """The requested device and precision.

    device: auto prefers a GPU (CUDA, then MPS). precision: auto is bfloat16 on CUDA, else float32.
    """

    device: str = "auto"
    precision: str = "auto"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,2})?", self.device):
            raise PlacementError(f"expected one of {', '.join(DEVICES)} for device, found {self.device!r}")
        if self.precision not in PRECISIONS:
            raise PlacementError(f"expected one of {', '.join(PRECISIONS)} for precision, found {self.precision!r}")

    @cached_property
    def torch_device(self) -> str:
        """The device's name in PyTorch; does not import PyTorch on a machine without a GPU.

        Raises `PlacementError` for a missing device.
        """
        if self.device == "cpu" or (self.device == "auto" and not _may_have_gpu()):
            return "cpu"
        import torch

        there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
        if self.device == "auto":
            return next((name for name, is_there in there.items() if is_there), "cpu")
        name, _, number = self.device.partition(":")
        if not there[name] or (number and int(number) >= torch.cuda.device_count()):
            raise PlacementError(f"there is no device {self.device}: leave it out, or name an available one")
        return self.device

    @property
    def is_gpu(self) -> bool:
        return self.torch_device != "cpu"

    @property
    def dtype(self) -> torch.dtype:
        import torch

        if self.precision == "auto":
            return torch.bfloat16 if self.torch_device.startswith("cuda") else torch.float32
        return getattr(torch, self.precision)


def copy_in_one_transfer(
    tensors: Sequence[torch.Tensor], move: Callable[[torch.Tensor], torch.Tensor]
) -> list[torch.Tensor]:
    """Return copies of tensors, of any shapes and types, that one call of `move` makes of all their bytes."""
    import torch

    order = sorted(range(len(tensors)), key=lambda place: -tensors[place].element_size())  # so that each is aligned
    parts = [tensors[place].contiguous().reshape(-1).view(torch.uint8) for place in order]
    moved = move(torch.cat(parts)).split([len(part) for part in parts])
    found = {
        place: part.view(tensors[place].dtype).reshape(tensors[place].shape)
        for place, part in zip(order, moved, strict=True)
    }
    return [found[place] for place in range(len(tensors))]


def move_batch(tensors: Sequence[torch.Tensor], device: torch.device) -> list[torch.Tensor]:
    """Return the tensors of a batch on a device: on a CUDA one by a single copy from pinned memory."""
    if device.type != "cuda":
        return [tensor.to(device) for tensor in tensors]
    return copy_in_one_transfer(tensors, lambda packed: packed.pin_memory().to(device, non_blocking=True))


class AdaptiveBatchSize:
    """The number of items that are computed together: from `size` on it doubles up to `most`, until memory is short;
    then it is halved, and stays."""

    def __init__(self, size: int, most: int = 8_192) -> None:
        self.size = size
        self._most = most

    def run(self, items: Sequence[T], compute: Callable[[Sequence[T]], R]) -> list[R]:
        """Return what is computed of all items, part by part; raise what one item alone raises."""
        import torch

        found: list[R] = []
        at = 0
        while at < len(items):
            part = items[at : at + self.size]
            try:
                found.append(compute(part))
            except torch.OutOfMemoryError:
                if len(part) == 1:
                    raise
                self.size = self._most = max(1, len(part) // 2)
                torch.cuda.empty_cache()  # does nothing without CUDA
                continue
            at += len(part)
            if len(part) == self.size:
                self.size = min(2 * self.size, self._most)
        return found


def _may_have_gpu() -> bool:
    if find_spec("torch") is None:
        return False
    return sys.platform in ("darwin", "win32") or any(path.exists() for path in _DRIVERS)


def limit_blas_threads() -> AbstractContextManager[object]:
    """Limit NumPy's BLAS to one thread from this call on until the context ends.

    The limit belongs to the process: where contexts of several threads overlap, the first to begin decides when it
    ends.
    """
    return _find_libraries().limit(limits=1)


@cache
def _find_libraries() -> ThreadpoolController:
    import numpy as np  # noqa: F401 - a library is found once it is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
