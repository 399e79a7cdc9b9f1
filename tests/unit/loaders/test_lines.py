"""Lines of files: cut right whatever the ends, and every fault with its place."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.reading import RereadableFile


def written(folder: Path, content: bytes, name: str = "file") -> str:
    path = folder / name
    path.write_bytes(content)
    return str(path)


def read(path: str) -> tuple[list[tuple[int, str]], list[tuple[int, str, str]]]:
    """Return the lines with their numbers, and the rejects."""
    rejects: list[tuple[int, str, str]] = []
    lines: list[tuple[int, str]] = []
    for batch in RereadableFile(path).batches(lambda *reject: rejects.append(reject)):
        batch.validate(full=True)
        lines.extend(zip(batch["line"].to_pylist(), batch["text"].to_pylist(), strict=True))
    return lines, rejects


PACKED = gzip.compress("".join(f"line {i} {hash(i) * 7919 % 99991}\n" for i in range(300_000)).encode())


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", ": the file is empty"),
        (
            b"\xff\xfea\0\xd8",
            ": expected UTF-16, found a fault: 'utf-16-le' codec can't decode byte 0xd8 in position 0: truncated data",
        ),
        (gzip.compress(b"a\n" * 500)[:20], ": the gzip file is cut off: fetch it again"),
        (b"\x1f\x8bnot gzip", ": the gzip file is damaged (Unknown compression method): fetch it again"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes, fault: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == path + fault


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (PACKED[: len(PACKED) // 2], "the gzip file is cut off: fetch it again"),
        (PACKED[:-3], "the gzip file is cut off: fetch it again"),
        (PACKED[:-8] + bytes(8), "the gzip file is damaged (CRC check failed"),
        (PACKED + b"and more of it", "the gzip file is damaged (Not a gzipped file"),
    ],
    ids=["half", "end", "sum", "more"],
)
def test_the_place_of_a_cut_is_told(tmp_path: Path, content: bytes, fault: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    place, _, reason = message.removeprefix(f"{path}:").partition(": ")
    assert 10_000 < int(place) <= 300_001
    assert reason.startswith(fault)
    assert "\n" not in message


def test_stdin_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\nb\n"))))
    file = RereadableFile("-")
    assert (file.name, file.shown) == ("stdin", "stdin")
    assert file.digest() == file.digest()
    for _ in range(2):
        assert [batch["text"].to_pylist() for batch in file.batches(print)] == [["a", "b"]]
    assert file.position_bytes == file.size_bytes
