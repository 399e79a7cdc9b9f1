"""Choose the device and precision of all networks, and limit BLAS to one thread.

The matrices of a question are small, and OpenBLAS's threads wait for the next product in a loop: with two threads a
question took twice the processor time, and the database beside it was slower.
"""

from __future__ import annotations

import re
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from threadpoolctl import ThreadpoolController


DEVICES = ("auto", "cpu", "cuda", "cuda:N", "mps")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")

_DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/dxg"), Path("/dev/kfd"))
"""Driver files of machines with a GPU: NVIDIA's, WSL's, AMD's."""


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
        dtype: torch.dtype = getattr(torch, self.precision)
        return dtype


def _may_have_gpu() -> bool:
    if find_spec("torch") is None:
        return False
    return sys.platform in ("darwin", "win32") or any(path.exists() for path in _DRIVERS)


def limit_blas_threads() -> AbstractContextManager[object]:
    """Limit NumPy's BLAS to one thread from this call on until the context ends.

    The limit belongs to the process: where contexts of several threads overlap, the first to begin decides when it
    ends.
    """
    limit: AbstractContextManager[object] = _find_libraries().limit(limits=1)
    return limit


@cache
def _find_libraries() -> ThreadpoolController:
    import numpy as np  # noqa: F401 - a library is found once it is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
