"""Rules that say which relations of the Freebase dump are noise, made ready for the parser.

A relation that no rule in doubt touches is decided by one regular expression; only for the others the rules are gone
through one by one. A rule is in doubt when it takes in again, or also looks at the tail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ....engine.errors import InputError
from ...message_text import shown
from ...reading.byte_file import ByteFile

DEFAULT_FILE = "noise.txt"

_WILD = re.compile(r"[*?]")
_SQL_WILD = re.compile(r"[%_\\]")


@dataclass(frozen=True, slots=True)
class NoiseRule:
    """A pattern of relations, one of tails, and whether what matches both is noise."""

    relation: str
    tail: str = "*"
    noise: bool = True

    @property
    def in_doubt(self) -> bool:
        """Whether the rules before or the tail have a say."""
        return not self.noise or self.tail != "*"


def read_noise_rules(file: ByteFile | None = None) -> list[NoiseRule]:
    """Return the rules of a file, by default those that come with Lodestar; raise `InputError` for what is no rule."""
    if file is None:
        text, place = Path(__file__).with_name(DEFAULT_FILE).read_text(encoding="utf-8"), DEFAULT_FILE
    else:
        with file.faults_translated(), file.unpacked() as stream:
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
                f"{place}:{number}: expected a pattern of relations and at most one of tails, found {shown(line)}"
            )
        rules.append(NoiseRule(relation, words[1] if len(words) > 1 else "*", noise=words[0] == relation))
    return rules


def noise_parameters(rules: Sequence[NoiseRule]) -> dict[str, object]:
    """Return the parameters `noise_…` of the parser `freebase`."""
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
    """Return whether a relation may match both; False only where that is certain."""
    first, second = _bracketless(rule.relation), _bracketless(other.relation)
    if not _WILD.search(first):
        return fnmatchcase(first, second)
    return bool(_WILD.search(second)) or fnmatchcase(second, first)


def _bracketless(glob: str) -> str:
    return glob.replace("[", "[[]")


def _pattern(globs: Iterable[str]) -> str | None:
    """Return a regular expression (RE2, to match in full) for any of the globs, None without any."""
    patterns = [
        "".join({"*": "(?s:.*)", "?": "(?s:.)"}.get(character) or re.escape(character) for character in glob)
        for glob in dict.fromkeys(globs)
    ]
    return "|".join(patterns) or None


def _like(glob: str) -> str:
    r"""Return the glob as a pattern of SQL's LIKE with the escape ``\``."""
    return _SQL_WILD.sub(r"\\\g<0>", glob).replace("*", "%").replace("?", "_")
