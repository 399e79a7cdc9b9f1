"""Limit BLAS to one thread.

The matrices of a question are small, and OpenBLAS's threads wait for the next product in a loop: with two threads a
question took twice the processor time, and the database beside it was slower.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


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
