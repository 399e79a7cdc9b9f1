"""Lines of files: cut right whatever the ends, and every fault with its place; standard input on its way to a disk."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest
from lodestar.loaders.reading import RereadableFile

from tests.made.files import refusal, written


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
    ("content", "first", "fault"),
    [
        (b"", 0, "the file is empty"),
        (b"\xff\xfea\0\xd8", 0, "expected UTF-16, found a fault"),
        (gzip.compress(b"a\n" * 500)[:20], 0, "the gzip file is cut off: fetch it again"),
        (b"\x1f\x8bnot gzip", 0, "the gzip file is damaged"),
        (PACKED[: len(PACKED) // 2], 10_000, "the gzip file is cut off: fetch it again"),
        (PACKED[:-3], 10_000, "the gzip file is cut off: fetch it again"),
        (PACKED[:-8] + bytes(8), 10_000, "the gzip file is damaged (CRC check failed"),
        (PACKED + b"and more of it", 10_000, "the gzip file is damaged (Not a gzipped file"),
    ],
    ids=["empty", "half a character", "few bytes", "no gzip", "half", "end", "sum", "more"],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes, first: int, fault: str) -> None:
    """A cut is told with its line, one in the first block without."""
    path = written(tmp_path, content)
    place, _, reason = refusal(lambda: read(path)).removeprefix(path).partition(": ")
    assert first <= int(place.removeprefix(":") or 0) <= 300_001
    assert reason.startswith(fault)


def test_stdin_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\nb\n"))))
    file = RereadableFile("-")
    assert (file.name, file.shown) == ("stdin", "stdin")
    assert file.digest() == file.digest()
    for _ in range(2):
        assert [batch["text"].to_pylist() for batch in file.batches(print)] == [["a", "b"]]
    assert file.position_bytes == file.size_bytes


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of a file")
def test_a_full_disk_is_said_and_not_taken_for_a_fault_of_the_input(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from lodestar.engine.errors import StorageError\n"
        "from lodestar.loaders.formats.triples import TsvSource\n"
        "from lodestar.loaders.reading import use_spool_folder\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "try:\n"
        "    with use_spool_folder(Path(sys.argv[1])):\n"
        "        TsvSource('-')\n"
        "except StorageError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], input=b"a\tr\tb\n" * 100_000, capture_output=True, check=True
    )
    assert done.stdout.decode() == (
        f"{tmp_path}: no room left on the disk for what comes from standard input: make room or name another LODESTAR_HOME\n"
    )
