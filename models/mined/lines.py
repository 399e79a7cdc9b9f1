"""What mined files of every kind share: JSON lines, gzip where the name ends in ``.gz``, the first of them a header.

A header is a dataclass that names the question set (`questions`, `questions_sha256`) and has the `counts` of the file,
``counts["questions"]`` among them, by which a file that was cut is told. Every other line is a question.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar, cast

from ..one_line import one_line
from ..training.decoding import decoded
from ..whole_file import atomic_write

FORMAT = 1
MAX_LINE_BYTES = 1 << 25
"""Of a question; the longest of 2,000 questions of FB15k-237 has 146 kB."""
MAX_RATIO = 100
"""Of the bytes that are unpacked to those of the file, from `FREE_BYTES` on; mined files are packed 20 to 1."""
FREE_BYTES = 1 << 26


class MinedFileError(Exception):
    """The file is not what `write_lines` writes; the message says where."""


class Header(Protocol):
    """What a header has whatever the kind."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many there are of what."""
        ...


HeaderT = TypeVar("HeaderT", bound=Header)
RecordT = TypeVar("RecordT")


def write_lines(path: Path, header: Mapping[str, Any], records: Iterable[Any]) -> None:
    """Write a file, whole or not at all: the same header and the same records, the same bytes."""
    said = ({"format": FORMAT, **header}, *map(asdict, records))
    lines = (json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in said)
    with atomic_write(path) as draft, draft.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                packed.writelines(lines)
        else:
            file.writelines(lines)


def header_of(path: Path) -> Mapping[str, Any]:
    """Return the first line of a file where it is an object, else nothing."""
    try:
        with _opened(path) as file:
            record = json.loads(file.readline(MAX_LINE_BYTES))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error):
        return {}
    return record if isinstance(record, dict) else {}


def read_lines(
    path: Path,
    header: Callable[[Mapping[str, Any]], HeaderT],
    record: type[RecordT],
    check: Callable[[RecordT, HeaderT], RecordT],
    *,
    what: str,
    again: str,
) -> tuple[HeaderT, tuple[RecordT, ...], str]:
    """Return header, records and the SHA-256 of the content, unpacked.

    header: makes it of the first line, without its format. check: returns a record, or raises `ValueError`. what,
    again: for messages, what is read and what to do. Raises `MinedFileError` for a file that is missing or damaged.
    """
    digest = hashlib.sha256()
    records: list[RecordT] = []
    head: HeaderT | None = None
    number = 0
    try:
        with _opened(path) as file:
            most = max(FREE_BYTES, MAX_RATIO * path.stat().st_size)
            for number, line in enumerate(_lines(file, most), start=1):  # noqa: B007 - told when the line is damaged
                digest.update(line)
                if head is None:
                    head = header(_of_this_format(line))
                else:
                    records.append(check(decoded(record, line), head))
    except OSError as error:
        raise MinedFileError(f"{path}: the {what} cannot be read: {error.strerror or error}") from error
    except (EOFError, ValueError, RecursionError, zlib.error) as error:
        raise MinedFileError(
            f"{path}:{max(number, 1)}: expected what `lodestar mine` writes: {one_line(error)}: {again}"
        ) from error
    if head is None:
        raise MinedFileError(f"{path}: expected {what}, found an empty file: {again}")
    if len(records) != head.counts.get("questions", len(records)):
        raise MinedFileError(
            f"{path}:{number}: expected {head.counts['questions']:,} questions, found {len(records):,}: "
            f"the file was cut: {again}"
        )
    return head, tuple(records), digest.hexdigest()


def _opened(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _lines(file: IO[bytes], most: int) -> Iterator[bytes]:
    """Yield the lines; raise `ValueError` where one of them, or all together, are longer than anything mined is."""
    num_bytes = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        num_bytes += len(line)
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"a line of at most {MAX_LINE_BYTES:,} bytes, found a longer one")
        if num_bytes > most:
            raise ValueError(f"at most {most:,} bytes when it is unpacked, found more")
        yield line


def _of_this_format(line: bytes) -> Mapping[str, Any]:
    record = json.loads(line)
    if not isinstance(record, dict) or record.pop("format", None) != FORMAT:
        raise ValueError(f"format {FORMAT} in the first line")
    return record
