"""Read N-Triples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...engine.errors import InputError
from ...models.message_text import quote_line
from ..reading.file_lists import derive_source_name, list_files
from ..reading.lines import LineReader
from ..source import FileSource, LineFile, Part

DEFAULT_LANGUAGES = ("en",)
ALL = "*"


@dataclass(frozen=True, slots=True)
class Languages:
    """Languages in order of preference, lower case, and whether to keep all others."""

    preferred: tuple[str, ...]
    all_others: bool

    @classmethod
    def of(cls, languages: Sequence[str]) -> Languages:
        """Return the languages with these tags; `*` stands for all others."""
        tags = [tag.strip().lower() for tag in languages]
        for tag in tags:
            if tag != ALL and not tag.replace("-", "").isalnum():
                raise InputError(f"expected a language such as en or pt-br, or * for all, found {quote_line(tag)}")
        return cls(tuple(dict.fromkeys(tag for tag in tags if tag != ALL)), ALL in tags)

    def parameters(self) -> dict[str, object]:
        """Return the parsers' parameters `languages` and `all_languages`."""
        return {"languages": list(self.preferred), "all_languages": self.all_others}

    def as_options(self) -> list[str]:
        """Return the languages as given."""
        return [*self.preferred, *([ALL] if self.all_others else [])]


NAMES = ("http://www.w3.org/2000/01/rdf-schema#label", "http://rdf.freebase.com/ns/type.object.name")
ALIASES = ("http://www.w3.org/2004/02/skos/core#altLabel", "http://rdf.freebase.com/ns/common.topic.alias")


class NtriplesSource(FileSource):
    """A file of N-Triples (``-`` is standard input), a folder or a pattern of such files, gzip or plain.

    An IRI's part after a base is the id or the relation. The literals of the relations `names` and `aliases` (whole
    IRIs) are names in the given languages, `*` being every other.
    """

    kind = "ntriples"
    unnamed_ids = None

    def __init__(
        self,
        path: str,
        *,
        bases: Sequence[str] = (),
        names: Sequence[str] = NAMES,
        aliases: Sequence[str] = ALIASES,
        languages: Sequence[str] = DEFAULT_LANGUAGES,
    ) -> None:
        self.max_rejects = 0
        self._bases = sorted(set(bases) - {""}, key=lambda base: (-len(base), base))
        self._names = list(names)
        self._aliases = list(aliases)
        self._chosen = Languages.of(languages)
        self.languages = self._chosen.preferred
        files = list_files(path)
        self._files = [LineReader(each) for each in files]
        super().__init__(self._files, derive_source_name(path, files))

    def options(self) -> Mapping[str, object]:
        """Return bases, name relations and languages."""
        return {
            "bases": self._bases,
            "names": self._names,
            "aliases": self._aliases,
            "languages": self._chosen.as_options(),
        }

    def parts(self) -> Iterator[Part]:
        """Yield the files."""
        any_base = "|".join(map(re.escape, self._bases))
        bases = f"^(?:{any_base})((?s:.+))$" if any_base else None
        parameters = {"bases": bases, "names": self._names, "aliases": self._aliases, **self._chosen.parameters()}
        for file in self._files:
            yield LineFile(file, "ntriples", parameters)
