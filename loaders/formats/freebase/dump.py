"""The raw Freebase RDF dump: names by language, relations that are no knowledge left out by rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ...plain_lines.encoding import PlainForm
from ...reading.byte_file import ByteFile
from ...reading.lines import LineFile
from ...source import LinePart, Part
from ..file_source import FileSource
from ..languages import DEFAULT_LANGUAGES, Languages
from .ids import FREEBASE
from .noise import noise_parameters, read_noise_rules

MAX_REJECTS = 1_000

_NAMES = r"type\.object\.name|common\.topic\.alias"


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
        yield LinePart(self._file, "freebase", {**self._chosen.parameters(), **noise}, plain_form(noise))


def plain_form(noise: Mapping[str, object]) -> PlainForm:
    """Return the form of lines of three identifiers in full, without an escape, whose relation says what they are.

    `noise` is what `noise_parameters` returns.
    """
    before = f"<{FREEBASE}"
    identifier = rf"{re.escape(before)}[^>\\]+>"
    in_doubt, certain = noise["noise_in_doubt"], noise["noise_relations"]
    looked_at = _NAMES if in_doubt is None else f"{_NAMES}|{in_doubt}"
    return PlainForm(
        separator="\t",
        num_columns=4,
        columns=(0, 1, 2),
        entity=identifier,
        relation=identifier,
        other_relation=f"{re.escape(before)}(?:{looked_at})>",
        noise=None if certain is None else f"{re.escape(before)}(?:{certain})>",
        begin="<",
        stop=".",
        around=(len(before), 1),
    )
