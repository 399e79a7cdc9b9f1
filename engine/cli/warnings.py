"""What the library warns of, as lines on standard error."""

from __future__ import annotations

import logging

from .terminal import echo


class _Lines(logging.Handler):
    """Prints a record as one line, whatever is in the names it speaks of."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record."""
        from .terminal import printable

        echo(f"lodestar: {printable(' '.join(record.getMessage().split()))}", err=True)


def show_warnings() -> None:
    """Print the library's warnings from now on."""
    log = logging.getLogger("lodestar")
    if not any(isinstance(handler, _Lines) for handler in log.handlers):
        log.addHandler(_Lines(logging.WARNING))
