"""Read the raw Freebase RDF dump, in which a triple is a line with tabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ...engine.errors import InputError
from ...models.message_text import quote_line
from ..naming import Languages
from ..reading.files import RereadableFile, derive_source_name, list_files
from ..reading.lines import LineReader
from ..source import FileSource, LineFile, Part

FREEBASE = "http://rdf.freebase.com/ns/"

DEFAULT_FILE = "freebase_noise.txt"

_WILD = re.compile(r"[*?]")
_SQL_WILD = re.compile(r"[%_\\]")


@dataclass(frozen=True, slots=True)
class NoiseRule:
    """A pattern of relations, one of tails, and whether triples that match both are noise."""

    relation: str
    tail: str = "*"
    noise: bool = True

    @property
    def in_doubt(self) -> bool:
        """Whether the result also depends on earlier rules or on the tail."""
        return not self.noise or self.tail != "*"


def read_noise_rules(file: RereadableFile | None = None) -> list[NoiseRule]:
    """Return the rules of a file, by default Lodestar's own; raise `InputError` for a line that is not a rule."""
    if file is None:
        text, place = Path(__file__).with_name(DEFAULT_FILE).read_text(encoding="utf-8"), DEFAULT_FILE
    else:
        with file.translate_faults(), file.open_unpacked() as stream:
            raw = b"".join(iter(lambda: stream.read(1 << 20) or b"", b""))
        try:
            text, place = raw.decode("utf-8-sig"), file.shown
        except UnicodeDecodeError as error:
            raise InputError(f"{file.shown}: expected UTF-8, found byte 0x{raw[error.start]:02x}") from error
    rules = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        relation = words[0].removeprefix("!")
        if len(words) > 2 or not relation:
            raise InputError(
                f"{place}:{number}: expected a pattern of relations and at most one of tails, found {quote_line(line)}"
            )
        rules.append(NoiseRule(relation, words[1] if len(words) > 1 else "*", noise=words[0] == relation))
    return rules


def noise_parameters(rules: Sequence[NoiseRule]) -> dict[str, object]:
    in_doubt = [rule for rule in rules if rule.in_doubt]
    concerned = [rule for rule in rules if any(_may_overlap(rule, other) for other in in_doubt)]
    return {
        "noise_relations": _pattern(rule.relation for rule in rules if rule.noise),
        "noise_in_doubt": _pattern(rule.relation for rule in in_doubt),
        "noise_rules": [
            {"relation": _like(rule.relation), "tail": _like(rule.tail), "noise": rule.noise} for rule in concerned
        ],
    }


def _may_overlap(rule: NoiseRule, other: NoiseRule) -> bool:
    """Return whether a relation may match both; False only if that is certain."""
    first, second = _bracketless(rule.relation), _bracketless(other.relation)
    if not _WILD.search(first):
        return fnmatchcase(first, second)
    return bool(_WILD.search(second)) or fnmatchcase(second, first)


def _bracketless(glob: str) -> str:
    return glob.replace("[", "[[]")


def _pattern(globs: Iterable[str]) -> str | None:
    """Return a regular expression (RE2, for a full match) of any of the globs; None without globs."""
    patterns = [
        "".join({"*": "(?s:.*)", "?": "(?s:.)"}.get(character) or re.escape(character) for character in glob)
        for glob in dict.fromkeys(globs)
    ]
    return "|".join(patterns) or None


def _like(glob: str) -> str:
    r"""Return the glob as a pattern of SQL's LIKE with the escape ``\``."""
    return _SQL_WILD.sub(r"\\\g<0>", glob).replace("*", "%").replace("?", "_")


MAX_REJECTS = 1_000


class FreebaseSource(FileSource):
    """The dump (``-`` is standard input), a folder or a pattern of its parts, gzip or plain.

    Names are those in the given languages.
    A language is spelled as in the dump (``en``, ``pt-br``), `*` is every other. The rules in `noise_path` replace
    `freebase_noise.txt`.
    """

    kind = "freebase"

    def __init__(self, path: str, *, languages: Sequence[str] = ("en",), noise_path: str | None = None) -> None:
        self.max_rejects = MAX_REJECTS
        self._chosen = Languages.of(languages)
        self.languages = self._chosen.preferred
        self._rules = read_noise_rules(None if noise_path is None else RereadableFile(noise_path))
        files = list_files(path)
        self._files = [LineReader(each) for each in files]
        super().__init__(self._files, derive_source_name(path, files))

    def options(self) -> Mapping[str, object]:
        return {"languages": self._chosen.as_options(), "noise": [asdict(rule) for rule in self._rules]}

    def parts(self) -> Iterator[Part]:
        noise = noise_parameters(self._rules)
        for file in self._files:
            yield LineFile(file, "freebase", {**self._chosen.parameters(), **noise})
