"""Select a part of a source: by relation, by domain, around entities, without hubs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ..engine.errors import InputError, UsageError

_GLOB = re.compile(r"[*?]")
_NOTHING = r"[^\s\S]"


@dataclass(frozen=True, slots=True)
class Subset:
    """The part of a source to load; the default is all of it. A triple must pass every restriction.

    `relations` are names or globs (``music.*``), `domains` the first parts of names (``music``). `around` with `hops`
    keeps the triples with an end less than `hops` steps from these entities, in any direction. Entities of more than
    `max_degree` triples are then reached but not expanded; without `around`, their triples are dropped.
    """

    around: tuple[str, ...] = ()
    hops: int = 1
    relations: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    max_degree: int | None = None

    def __post_init__(self) -> None:
        if self.hops < 1:
            raise UsageError(f"hops: expected 1 or more, found {self.hops}")
        if self.max_degree is not None and self.max_degree < 1:
            raise UsageError(f"max_degree: expected 1 or more, found {self.max_degree}")

    @property
    def exact_relations(self) -> tuple[str, ...]:
        """The relations given by name."""
        return tuple(name for name in self.relations if not _GLOB.search(name))

    @property
    def relation_pattern(self) -> str:
        """A regular expression (RE2) of the relations given by globs; matches nothing without globs."""
        globs = filter(_GLOB.search, self.relations)
        patterns = [re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".") for glob in globs]
        return f"(?s:{'|'.join(patterns)})" if patterns else _NOTHING

    def as_json(self) -> Mapping[str, object]:
        """Return the options that differ from the default, for a manifest."""
        default = asdict(Subset())
        return {name: value for name, value in asdict(self).items() if value != default[name]}


def read_list(path: str) -> tuple[str, ...]:
    """Return the lines of a file without blank ones and comments (``#``)."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8 text, found byte 0x{error.object[error.start]:02x}") from error
    lines = (line.strip() for line in text.splitlines())
    found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise InputError(f"{path}: expected one name a line, found none")
    return found
