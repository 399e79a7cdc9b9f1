"""Read query templates from `cypher/`, and define the requests that are made of them.

A template's header is the leading comment of its file. Its line ``mode: read | write | schema`` says how it runs.
``{{RELATION}}`` in the text is replaced by a quoted identifier, or by an expression of the user's, on its own lines, if
the header's line ``conditions:`` names it. A line ``{{> name}}`` includes the text of ``cypher/parts/name.cypher``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Generic, Literal, LiteralString, TypeVar, cast

from ... import cypher as cypher_folder

CYPHER_VERSION = 5
"""Cypher version of all templates, whatever the server's default is."""

Mode = Literal["read", "write", "schema"]

_MODE = re.compile(r"^// mode: *(read|write|schema)$", re.MULTILINE)
_CONDITIONS = re.compile(r"^// conditions: *(.*)$", re.MULTILINE)
_PARAMETER = re.compile(r"\$([A-Za-z_]\w*)")
_NAME = re.compile(r"\{\{(\w+)\}\}")
_PART = re.compile(r" *\{\{> (\w+)\}\}")
_PARTS = "parts"
_FRAGMENTS = (_PARTS, "plans")
"""Folders of what is no query on its own."""
_ENDING = ".cypher"


class TemplateError(Exception):
    """A file in `cypher/` breaks the rules for headers: a bug in Lodestar."""


@dataclass(frozen=True, slots=True)
class Template:
    """One query of `cypher/`. `names` are those of identifiers and of conditions."""

    name: str
    mode: Mode
    names: frozenset[str]
    conditions: frozenset[str]
    text: str

    @property
    def params(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_PARAMETER.findall(self.text)))

    def render(self, names: Mapping[str, str]) -> LiteralString:
        """Return the query text with its Cypher version, and `{{NAME}}` replaced by a quoted identifier or a condition.

        Identifiers are quoted, and a condition is what the owner of the database says of it, so that the result is as
        safe as a literal.
        """
        if set(names) != self.names:
            raise TemplateError(f"{self.name}.cypher: expected names {sorted(self.names)}, got {sorted(names)}")
        filled = {
            name: f"\n{given}\n" if name in self.conditions else quote_identifier(given)
            for name, given in names.items()
        }
        rendered = _NAME.sub(lambda match: filled[match.group(1)], self.text)
        return cast(Any, f"CYPHER {CYPHER_VERSION} {rendered}")  # type: ignore[no-any-return]


def quote_identifier(identifier: str) -> str:
    """Return the identifier in back-ticks, with inner back-ticks doubled.

    Raises `ValueError` for text that Cypher would read as other characters.
    """
    if not identifier or "\x00" in identifier or "\\u" in identifier:
        raise ValueError(f"not usable as a name in Cypher: {identifier!r}")
    return "`" + identifier.replace("`", "``") + "`"


@cache
def template(name: str) -> Template:
    """Return the template of ``<name>.cypher`` from any folder of `cypher/`."""
    return parse(name, _files()[name].read_text(encoding="utf-8"))


def all_names() -> tuple[str, ...]:
    """Return the names of all templates, sorted."""
    return tuple(sorted(_files()))


def parse(name: str, source: str) -> Template:
    """Parse a template. Raises `TemplateError` for one without a mode."""
    lines = _PART.sub(lambda match: _part(match.group(1)), source).splitlines()
    size = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    header, text = "\n".join(lines[:size]), "\n".join(lines[size:]).strip()
    mode, conditions = _MODE.search(header), _CONDITIONS.search(header)
    if mode is None:
        raise TemplateError(f"{name}.cypher: the header has no line `mode: read`, `write` or `schema`")
    return Template(
        name=name,
        mode=cast(Mode, mode[1]),
        names=frozenset(_NAME.findall(text)),
        conditions=frozenset(re.findall(r"\w+", conditions[1]) if conditions else ()),
        text=text,
    )


@cache
def _files() -> Mapping[str, Traversable]:
    found = resources.files(cypher_folder).iterdir()
    folders = [folder for folder in found if folder.is_dir() and folder.name not in _FRAGMENTS]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(_ENDING)]
    return {file.name.removesuffix(_ENDING): file for file in files}


@cache
def _part(name: str) -> str:
    text = resources.files(cypher_folder).joinpath(_PARTS, name + _ENDING).read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("//"))


T = TypeVar("T")

Row = tuple[Any, ...]

MAX_REQUEST_CHARS = 4_000_000
"""Bound of the texts of one request, because the database holds several copies of them."""


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One query: a template, its parameters, and a function that decodes its rows.

    `decode` gets the rows as tuples in the order of the template's ``returns``.
    """

    template: Template
    params: Mapping[str, Any]
    decode: Callable[[Sequence[Row]], T]
    names: Mapping[str, str] = field(default_factory=dict)


def split_into_requests(
    items: Iterable[T], size: int, num_chars: Callable[[T], int], max_chars: int = MAX_REQUEST_CHARS
) -> Iterator[list[T]]:
    """Yield the items in batches for one request each: at most `size` items and about `max_chars` characters."""
    batch: list[T] = []
    chars = 0
    for item in items:
        length = num_chars(item)
        if batch and (len(batch) == size or chars + length > max_chars):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += length
    if batch:
        yield batch
