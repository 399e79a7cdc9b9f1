"""Show progress on stderr: on a terminal in one line that is written over, elsewhere in lines."""

from __future__ import annotations

import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Called with the phase, how much is done, and of how much (0 where that is not known)."""

Say = Callable[[str], None]
"""Called with a line for people."""

_BYTES = {"downloading", "reading"}
"""Phases that count bytes."""
_CLEAR = "\r\x1b[2K"
_SHOWN_EACH_S = 0.1


def make_printable(text: str) -> str:
    """Return the text with control characters made visible, so that no name can control a terminal."""
    return "".join(
        c
        if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in "\u200c\u200d"
        else f"\\x{ord(c):02x}"
        for c in text
    )


def format_count(number: int, one: str, several: str = "") -> str:
    """Return a number of things in words: 1 chain, 2 chains; several: where that is no s more."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def print_to_stderr(text: str) -> None:
    """Print lines on standard error, for whoever runs the command."""
    sys.stderr.write("".join(f"{make_printable(line)}\n" for line in text.split("\n")))
    sys.stderr.flush()


def ignore_progress(phase: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def show_status(what: str) -> Iterator[Say]:
    """Show a line on a terminal until the block ends, and yield what replaces it; elsewhere show nothing."""
    if not sys.stderr.isatty():
        yield lambda _line: None
        return
    _write_over(what)
    try:
        yield _write_over
    finally:
        _write_over("")


@contextmanager
def show_waiting(what: str, *, shown: bool = True) -> Iterator[None]:
    """Say what is waited for, and when it is over how long it took."""
    if not shown:
        yield
        return
    began_s = time.monotonic()
    if not sys.stderr.isatty():
        print_to_stderr(f"{what} …")
    with show_status(f"{what} …"):
        yield
    print_to_stderr(f"{what}: {time.monotonic() - began_s:.1f} s")


@contextmanager
def show_progress_bar(source: str, doing: str = "loading") -> Iterator[tuple[Progress, Say]]:
    """Yield what shows how much is done with `source` on stderr, and what says a line above it."""
    if not sys.stderr.isatty():
        print_to_stderr(f"{doing} {source} …")
        yield ignore_progress, print_to_stderr
        return
    began_s, shown_s = time.monotonic(), 0.0

    def show(phase: str, done: int, total: int) -> None:
        nonlocal shown_s
        now_s = time.monotonic()
        if now_s - shown_s >= _SHOWN_EACH_S or done == total:
            shown_s = now_s
            count = f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB" if phase in _BYTES else f"{done:,} of {total:,}"
            status(f"{phase:<12} {f'{100 * done // total:3} %  {count}' if total else ''}  {now_s - began_s:,.0f} s")

    def say_above(line: str) -> None:
        status("")
        print_to_stderr(line)

    with show_status(f"{doing} {source} …") as status:
        yield show, say_above


def _write_over(line: str) -> None:
    shown = "".join(character if character.isprintable() else " " for character in line)
    sys.stderr.write(_CLEAR + shown[: shutil.get_terminal_size().columns - 1])
    sys.stderr.flush()
