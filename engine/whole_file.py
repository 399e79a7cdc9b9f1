"""Text files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

from .errors import StorageError


def write_whole(file: Path, text: str) -> None:
    """Write a file in UTF-8, in the place of what was there; raise `StorageError` where it cannot be written."""
    draft = file.with_name(f".{file.name}.part")
    try:
        try:
            draft.write_text(text, encoding="utf-8")
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{file}: cannot be written: {error.strerror}") from error
