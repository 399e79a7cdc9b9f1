"""How many examples a law is held against."""

from __future__ import annotations

import os


def examples(number: int) -> int:
    """Return a law's own number of examples, times what ``LODESTAR_EXAMPLES`` says (1; `make test-long` says 3)."""
    return number * int(os.environ.get("LODESTAR_EXAMPLES", "1"))
