"""Provide size, position and digest for sources that are files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..reading.byte_file import ByteFile
from ..source import RelationFacts, digest_of


class FileSource:
    """A source of one or more files, named after the first. A format adds `parts`, and `options` if it has any."""

    kind: str

    def __init__(self, files: Sequence[ByteFile]) -> None:
        self._read_files = tuple(files)
        self.name = self._read_files[0].name

    @property
    def size_bytes(self) -> int:
        """The size of the files on disk, compressed."""
        return sum(file.size_bytes for file in self._read_files)

    @property
    def position_bytes(self) -> int:
        """How many bytes of them are read."""
        return sum(file.position_bytes for file in self._read_files)

    def reads(self, path: Path) -> bool:
        """Return whether this is one of the files."""
        return any(file.is_at(path) for file in self._read_files)

    def digest(self) -> str:
        """Return the hash of the files and the options."""
        return digest_of(self.kind, self.options(), [file.digest() for file in self._read_files])

    def options(self) -> Mapping[str, object]:
        """Return nothing: the format has no options."""
        return {}

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return nothing: the file describes its relations only by triples."""
        return {}
