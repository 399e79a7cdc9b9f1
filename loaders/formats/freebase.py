"""Read the raw Freebase RDF dump, in which a triple is a line with tabs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ..reading import RereadableFile
from ..source import ALL, FileSource, read_languages

FREEBASE = "http://rdf.freebase.com/ns/"


@cache
def noise_rules() -> tuple[str, ...]:
    text = Path(__file__).with_name("freebase_noise.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


class FreebaseSource(FileSource):
    """The dump (``-`` is standard input), a folder or a pattern of its parts, gzip or plain.

    Names are those in the given languages.
    A language is spelled as in the dump (``en``, ``pt-br``), `*` is every other.
    """

    kind = parser = "freebase"
    max_rejects = 1_000

    def __init__(self, path: str, *, languages: Sequence[str] = ("en",)) -> None:
        self._chosen = read_languages(languages)
        self.languages = [each for each in self._chosen if each != ALL]
        super().__init__(path, languages=self._chosen, noise=list(noise_rules()))

    def parameters(self, file: RereadableFile) -> Mapping[str, object]:  # noqa: ARG002
        relations = (re.escape(rule).replace(r"\*", "(?s:.*)") for rule in noise_rules() if " " not in rule)
        return {
            "languages": list(self.languages),
            "all_languages": ALL in self._chosen,
            "noise_relations": "|".join(relations),
            "noise_statements": [rule for rule in noise_rules() if " " in rule],
        }
