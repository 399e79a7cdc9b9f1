"""The raw Freebase RDF dump: names by language, relations that are no knowledge left out by rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ...reading.byte_file import ByteFile
from ...reading.lines import LineFile
from ...source import LinePart, Part
from ..file_source import FileSource
from ..languages import DEFAULT_LANGUAGES, Languages
from .noise import noise_parameters, read_noise_rules

MAX_REJECTS = 1_000


class FreebaseSource(FileSource):
    """The dump (``-`` is standard input), gzip or plain, with names in the languages given.

    A language is one as the dump has it (``en``, ``pt-br``), `*` is every other. `noise_path` has rules as
    `noise.txt`, which come instead of those.
    """

    kind = "freebase"
    unnamed_ids = None

    def __init__(
        self, path: str, *, languages: Sequence[str] = DEFAULT_LANGUAGES, noise_path: str | None = None
    ) -> None:
        self.max_rejects = MAX_REJECTS
        self._chosen = Languages.of(languages)
        self.languages = self._chosen.preferred
        self._noise = None if noise_path is None else ByteFile(noise_path)
        self._rules = read_noise_rules(self._noise)
        self._file = LineFile(path)
        super().__init__([self._file])

    def reads(self, path: Path) -> bool:
        """Return whether this is the dump or the file of rules."""
        return super().reads(path) or (self._noise is not None and self._noise.is_at(path))

    def options(self) -> Mapping[str, object]:
        """Return the languages and the rules of what is noise."""
        return {"languages": self._chosen.as_options(), "noise": [asdict(rule) for rule in self._rules]}

    def parts(self) -> Iterator[Part]:
        """Yield the dump."""
        noise = noise_parameters(self._rules)
        yield LinePart(self._file, "freebase", {**self._chosen.parameters(), **noise})
