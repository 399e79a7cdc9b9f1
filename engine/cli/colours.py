"""Whether the terminal that is written to shows colours."""

from __future__ import annotations

import os
import sys


def in_colour() -> bool:
    """Whether standard output is a terminal that shows colours, and nobody asked for none (https://no-color.org)."""
    return (
        bool(sys.stdout) and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )
