"""Write files atomically, and hash them."""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Literal

ABANDONED_S = 3_600
"""The age at which an unwritten draft counts as left behind by a killed process."""


@contextmanager
def atomic_write(file: Path) -> Iterator[Path]:
    """Yield the path of an empty draft beside a file; it replaces the file if the block succeeds, else it is deleted.

    Of several concurrent writers the last one's file stays. Others can read it unless the folder is closed to them.
    Raises `OSError` if the folder cannot be written, or the file's path is a folder, a device or a pipe.
    """
    for draft in file.parent.glob(f".{glob.escape(file.name)}.*.part"):
        with suppress(FileNotFoundError):  # its writer finished meanwhile
            if time.time() - draft.stat().st_mtime > ABANDONED_S:
                draft.unlink()
    draft = _draft(file)
    try:
        with translate_safetensors_errors():
            yield draft
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def translate_safetensors_errors() -> Iterator[None]:
    """Raise `OSError` where safetensors raises its own error for a failed write."""
    try:
        yield
    except Exception as error:
        found = re.search(r"os error (\d+)", str(error)) if type(error).__name__ == "SafetensorError" else None
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter, and so those above it that are missing."""
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid == os.getuid():
        folder.chmod(0o700)


def open_with_folder_permissions(file: Path, mode: Literal["wb", "ab"]) -> IO[bytes]:
    """Open a file to write; a new one is closed to others if its folder is, whatever is done with the file later."""
    bits = 0o666 if file.parent.stat().st_mode & 0o077 else 0o600
    return open(file, mode, opener=lambda path, flags: os.open(path, flags, bits))


def check_writable(file: Path) -> None:
    """Raise `OSError` if `atomic_write` could not write a file, before any content is computed."""
    _draft(file).unlink()


def _draft(file: Path) -> Path:
    if file.exists() and not file.is_file():
        code = errno.EISDIR if file.is_dir() else errno.ENODEV
        raise OSError(code, os.strerror(code) if file.is_dir() else "it is a device or a pipe, not a file")
    draft = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}.part")
    open_with_folder_permissions(draft, "wb").close()
    return draft


def compute_file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
