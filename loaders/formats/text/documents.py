"""Documents in files: text, Markdown, HTML, and JSON lines with a document each; one at a time, never more."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple, cast

from ....engine.errors import InputError
from ...message_text import shown
from ...reading.byte_file import ByteFile
from ...reading.records import MAX_RECORD_BYTES, UnreadableError, parsed_json, record_lines

_log = logging.getLogger(__name__)

TEXT_FIELDS = ("text", "contents", "content", "body")
"""Where a record of JSON lines may have its text; the first that it has counts."""

_ENDINGS = {".txt", ".text", ".md", ".html", ".htm", ".jsonl"}
_PACKED = ".gz"
_HTML = re.compile(r"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
_JUDGED_BYTES = 1 << 16
_SILENT = {"script", "style", "template", "noscript", "title", "head"}
_INLINE = {"a", "abbr", "b", "cite", "code", "em", "i", "mark", "q", "s", "small", "span", "strong", "sub", "sup", "u"}


class Document(NamedTuple):
    """A text and the line it starts on; where it cannot be read, `fault` says why and `text` is how it begins."""

    line: int
    text: str
    fault: str = ""


def files_of(path: str, *, follow_links: bool = False) -> list[ByteFile]:
    """Return the file, or those of a folder and its folders that are documents by their ending, in their order.

    follow_links: whether links in the folder are followed that lead out of it; how many are not is logged. Raises
    `InputError` where there is no document, or a folder that cannot be read.
    """
    if path == "-" or not Path(path).is_dir():
        return [ByteFile(path)]
    root, found, left_out = _real(path), [], []
    entered: set[Path] = set()
    for folder, folders, names in os.walk(path, onerror=_refuse, followlinks=follow_links):
        if follow_links:  # links may lead to one folder twice, or to one around them
            if _real(folder) in entered:
                folders.clear()
                continue
            entered.add(_real(folder))
        links = [each for each in (Path(folder, name) for name in (*folders, *names)) if each.is_symlink()]
        outside = {each for each in links if not follow_links and not _real(each).is_relative_to(root)}
        left_out += [each for each in outside if each.is_dir() or _ending(each.name) in _ENDINGS]
        files = {Path(folder, name) for name in names if _ending(name) in _ENDINGS}
        found += [each for each in files - outside if each.is_file()]
    found.sort()
    if left_out:
        _log.warning(
            "%s: %d link%s out of the folder not followed, the first %s: give --follow-links to read them",
            path,
            len(left_out),
            " is" if len(left_out) == 1 else "s are",
            shown(str(min(left_out)).encode(errors="surrogateescape")),
        )
    if not found:
        endings = ", ".join(sorted(_ENDINGS))
        raise InputError(f"{path}: expected documents ({endings}, each also with {_PACKED}), found none in the folder")
    return [ByteFile(str(each)) for each in found]


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))  # of a link to itself too, of which `Path.resolve` makes an error


def _refuse(error: OSError) -> None:
    raise InputError(f"{error.filename}: cannot be read: {error.strerror or error}")


def documents(file: ByteFile) -> Iterator[Document]:
    """Yield the documents of a file: of JSON lines one a line, otherwise the file is one."""
    line = 0
    with file.faults_translated(lambda: line), file.unpacked() as stream:
        reader = BufferedReader(cast(Any, stream), 1 << 20)
        if _ending(file.name) == ".jsonl":
            for line, raw in record_lines(reader, file.shown):
                if raw.strip():
                    yield _of_record(line, raw)
            return
        raw = reader.read(MAX_RECORD_BYTES + 1)
        if len(raw) > MAX_RECORD_BYTES:
            raise InputError(f"{file.shown}: the document is longer than {MAX_RECORD_BYTES:,} bytes: cut it into files")
        text = _decoded(raw)
        if text is None:
            yield Document(1, shown(raw[:200]), "expected text, found bytes that no encoding of text explains")
        else:
            yield Document(1, _of_html(text) if _HTML.match(text) else text)


def _ending(name: str) -> str:
    return Path(name.lower().removesuffix(_PACKED)).suffix


def _of_record(line: int, raw: bytes) -> Document:
    try:
        record = parsed_json(raw)
    except UnreadableError as error:
        return Document(line, shown(raw), str(error))
    fields = record if isinstance(record, dict) else {}
    text = next((fields[name] for name in TEXT_FIELDS if name in fields), None)
    if not isinstance(text, str):
        return Document(line, shown(raw), f"expected a text called {', '.join(TEXT_FIELDS[:-1])} or {TEXT_FIELDS[-1]}")
    return Document(line, text.encode("utf-8", "replace").decode())


def _decoded(raw: bytes) -> str | None:
    """Return bytes as text, in UTF-8 or what charset-normalizer takes them for; None where they are no text."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        from charset_normalizer import from_bytes

        found = from_bytes(raw[:_JUDGED_BYTES]).best()
        if found is None:
            return None
        text = raw.decode(found.encoding, "replace").removeprefix("\ufeff")
    return None if "\0" in text else text


def _of_html(text: str) -> str:
    """Return what a reader of the page would see, blocks on lines of their own."""
    reading = _Page()
    reading.feed(text)
    reading.close()
    return re.sub(r"[ \t]*\n\s*", "\n", "".join(reading.parts)).strip()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self._silent += tag in _SILENT
        if tag not in _INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in _SILENT))
        if tag not in _INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)
