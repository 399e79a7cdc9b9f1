"""Lines of a file cut the simple way: what RereadableFile must agree with."""

from __future__ import annotations

from lodestar.loaders.reading import NOT_UTF8


def reference_lines(raw: bytes, max_line_bytes: int) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return the lines, and the rejects with their reasons, both with their numbers."""
    end = b"\r" if b"\r" in raw and b"\n" not in raw else b"\n"
    *lines, last = raw.removeprefix(b"\xef\xbb\xbf").split(end)
    good: list[tuple[int, str]] = []
    bad: list[tuple[int, str]] = []
    for number, ended in enumerate([*lines, last] if last else lines, start=1):
        line = ended.removesuffix(b"\r")
        if len(line) > max_line_bytes:
            bad.append((number, f"the line is longer than {max_line_bytes:,} bytes"))
        elif b"\0" in line:
            bad.append((number, "expected text, found a zero byte"))
        else:
            try:
                good.append((number, line.decode()))
            except UnicodeDecodeError as error:
                bad.append((number, NOT_UTF8.format(line[error.start])))
    return good, bad
