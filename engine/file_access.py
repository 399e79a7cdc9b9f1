"""Read files within bounds, write them whole and lock them between processes; say in one line what cannot be done."""

from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ..models.atomic_files import atomic_write, check_writable, open_with_folder_permissions
from .errors import InputError, LodestarError, StorageError, UsageError
from .progress import print_to_stderr


def write_text_file(file: Path, text: str) -> None:
    """Write a file in UTF-8, in the place of what was there; raise `StorageError` where it cannot be written."""
    with translate_storage_errors(file), atomic_write(file) as draft:
        draft.write_text(text, encoding="utf-8")


MAX_TEXT_BYTES = 10_000_000
"""Of a text that a person writes: a recipe, a prompt, settings."""


def read_text_file(file: Path, what: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return a text in UTF-8, of standard input for ``-``; raise `InputError` for what cannot be read, is no text, or
    is longer than it may be.

    what: for messages, as "the recipe".
    """
    shown = "standard input" if str(file) == "-" else str(file)
    if shown != str(file) and sys.stdin is None:
        raise InputError(f"{shown}: expected {what}, found it closed")
    try:
        with nullcontext(sys.stdin.buffer) if shown != str(file) else file.open("rb") as opened:
            content = opened.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise InputError(f"{shown}: {what} is longer than {max_bytes:,} bytes: see whether it is the right file")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{shown}: {what} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{shown}: {what} cannot be read: expected UTF-8: {error.reason} at byte {error.start:,}"
        ) from error


def parse_json(text: str | bytes) -> Any:
    """Return what a text says in JSON; raise `ValueError`, for too many brackets as well."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it has too many brackets") from error


def check_output_file(option: str, file: Path, *, reads: Iterable[str | Path] = (), force: bool = False) -> None:
    """Raise an error unless a file may be written: the rule of every verb that writes.

    option: what names the file, for messages. reads: what the verb reads, which no file takes the place of. force:
    whether it may take the place of a file that is there; of an empty one it always may. What is no regular file, as a
    pipe, is left to the writer. Raises `UsageError`, and `StorageError` where nothing can be written there.
    """
    shown = f"{option} {file}" if option else str(file)
    if not file.parent.is_dir():
        raise StorageError(f"{file}: cannot be written: no such folder: make it, or name another")
    with translate_storage_errors(file):
        if not file.exists():
            check_writable(file)
        elif file.is_dir():
            raise UsageError(f"{shown}: expected the name of a file to write, found a folder")
        elif file.is_file():
            if any(Path(read).exists() and file.samefile(read) for read in reads):
                raise UsageError(f"{shown}: this command reads that file: name another one to write")
            if file.stat().st_size and not force:
                raise UsageError(f"{shown}: there is a file already: name another one, or give --force to replace it")
            check_writable(file)


@contextmanager
def translate_storage_errors(place: Path | str) -> Iterator[None]:
    """Raise `StorageError` for an `OSError` of the block, which writes to `place`."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{place}: cannot be written: {error.strerror or error}") from error


@contextmanager
def lock_file(path: Path, reason: str, *, refusal: LodestarError | None = None) -> Iterator[None]:
    """Hold the lock at `path`. If another process has it, raise `refusal`, or print `reason` to stderr and wait.

    Raises `StorageError` if the file cannot be opened, for example because another user owns it.
    """
    try:
        file = open_with_folder_permissions(path, "ab")
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be locked: {error.strerror or error}: name another folder, or remove this file"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if refusal:
                raise refusal from None
            print_to_stderr(f"{reason}: waiting for it …")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file frees the lock, as the end of the process does
