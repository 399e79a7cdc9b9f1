"""Files cut into spans: together they have the lines of the whole, wherever they are cut."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.reading import lines
from lodestar.loaders.reading.byte_file import GZIP
from lodestar.loaders.reading.lines import LineReader
from lodestar.loaders.reading.spans import Span, SpanReader, find_spans

Line = tuple[int, str]
Read = tuple[list[Line], list[Line]]

CONTENTS = {
    "ends": b"a\r\nbb\n\n\nccc\r\n" * 7,
    "no newline at the end": b"one\ntwo\n" * 9 + b"last",
    "mark": b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n" * 9,
    "long lines": b"x" * 50 + b"\n" + b"y" * 3 + b"\n" + b"z" * 120 + b"\nend\n",
    "letters of several bytes": "é漢😀\n".encode() * 12,
    "not readable": b"a\xff\nb\0c\nfine\n" * 6,
    "one line": b"w" * 70,
}


def members(content: bytes, sizes: random.Random) -> bytes:
    """Pack content as members of gzip, cut anywhere."""
    packed, at = b"", 0
    while at < len(content):
        size = sizes.randint(1, 30)
        packed += gzip.compress(content[at : at + size])
        at += size
    return packed


def read(reader: LineReader) -> Read:
    found: Read = ([], [])
    for batch in reader.batches(lambda line, reason, _: found[1].append((line, reason))):
        found[0].extend(zip(batch["line"].to_pylist(), batch["text"].to_pylist(), strict=True))
    return found


def read_apart(path: str, span_bytes: int) -> Read:
    """Read a file span by span, and number the lines as in the whole."""
    found: Read = ([], [])
    num_lines = 0
    for span in find_spans(path, span_bytes):
        reader = SpanReader(path, span)
        for some, more in zip(found, read(reader), strict=True):
            some.extend((line - reader.num_before + num_lines, text) for line, text in more)
        num_lines += reader.num_lines
    return found


@pytest.mark.parametrize("content", CONTENTS.values(), ids=list(CONTENTS))
@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
def test_the_spans_have_the_lines_of_the_whole(
    tmp_path: Path, content: bytes, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
    cuts = random.Random(0)
    path = tmp_path / "file"
    for span_bytes in (1, 7, 40, 100_000):
        path.write_bytes(members(content, cuts) if is_packed else content)
        whole = read(LineReader(str(path)))
        assert read_apart(str(path), span_bytes) == whole


def test_members_are_found_where_they_begin(tmp_path: Path) -> None:
    packed = [gzip.compress(f"member {number}\n".encode() * 20, mtime=0) for number in range(4)]
    path = tmp_path / "file"
    path.write_bytes(b"".join(packed))
    starts = [sum(map(len, packed[:number])) for number in range(4)]
    assert [span.start for span in find_spans(str(path), 1)] == starts
    path.write_bytes(packed[0])
    assert find_spans(str(path), 1) == [Span(0, len(packed[0]))]


def test_bytes_that_only_look_like_a_member_are_passed_over_or_told_by_reading(tmp_path: Path) -> None:
    inner = gzip.compress(b"inner\n" * 50, mtime=0)
    packer = zlib.compressobj(0, wbits=31)  # stored: the inner member is in the file as it is
    outer = packer.compress(b"first\n" + inner + b"\nlast\n") + packer.flush()
    path = tmp_path / "file"
    path.write_bytes(outer)
    false, *_ = (span for span in find_spans(str(path), 1) if span.start)
    with pytest.raises(InputError, match="cut off"):
        read(SpanReader(str(path), Span(0, false.start)))
    path.write_bytes(gzip.compress(b"first\n") + GZIP + b"\x08" + bytes(7) + b"\xff" * 20)
    assert len(find_spans(str(path), 1)) == 1
