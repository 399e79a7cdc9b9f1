"""Read query templates from `cypher/`, check their headers, and define the requests that are made of them.

A template's header is the leading comment of its file::

    // What the query does, in a line or more.
    // mode:    read | write | schema
    // params:  $ids :: LIST<STRING>, $limit :: INTEGER
    // names:   RELATION            (optional: `{{RELATION}}` in the text is replaced by a quoted identifier)
    // conditions: NODES            (optional: `{{NODES}}` is replaced by an expression of the user's, on its own lines)
    // returns: id :: STRING
    // needs:   constraint entity_id

A line ``{{> name}}`` includes the text of ``cypher/parts/name.cypher``, which several queries share. A parameter that
is undeclared, or declared but unused, is an error with file and line.
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

_FIELD = re.compile(r"//\s*(mode|params|names|conditions|returns|needs):\s*(.*)")
_PARAMETER = re.compile(r"\$([A-Za-z_]\w*)")
_NAME = re.compile(r"\{\{(\w+)\}\}")
_PART = re.compile(r" *\{\{> (\w+)\}\}")
_PARTS = "parts"
_ENDING = ".cypher"


class TemplateError(Exception):
    """A file in `cypher/` breaks the rules for headers: a bug in Lodestar."""


@dataclass(frozen=True, slots=True)
class Template:
    """One query of `cypher/`."""

    name: str
    purpose: str
    mode: Mode
    params: tuple[str, ...]
    names: tuple[str, ...]
    """Of identifiers and conditions."""
    conditions: tuple[str, ...]
    returns: tuple[str, ...]
    needs: str
    text: str

    def render(self, names: Mapping[str, str]) -> LiteralString:
        """Return the query text with its Cypher version, and `{{NAME}}` replaced by a quoted identifier or a condition.

        Identifiers are quoted, and a condition is what the owner of the database says of it, so that the result is as
        safe as a literal.
        """
        if set(names) != set(self.names):
            raise TemplateError(f"{self.name}.cypher: expected names {self.names}, got {sorted(names)}")
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
    """Parse a template. Raises `TemplateError` with file and line."""
    lines = _PART.sub(lambda match: _part(match.group(1)), source).splitlines()
    size = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    purpose, found = _header(lines[:size])
    for required in ("mode", "params", "returns", "needs"):
        if required not in found:
            raise TemplateError(f"{name}.cypher:1: the header has no {required!r} line")
    if found["mode"] not in ("read", "write", "schema"):
        raise TemplateError(f"{name}.cypher: mode {found['mode']!r} is none of read, write, schema")
    declared = tuple(_PARAMETER.findall(found["params"]))
    conditions = tuple(re.findall(r"\w+", found.get("conditions", "")))
    names = (*re.findall(r"\w+", found.get("names", "")), *conditions)
    for allowed, pattern in ((declared, _PARAMETER), (names, _NAME)):
        used = set()
        for number, line in enumerate(lines[size:], start=size + 1):
            for item in pattern.findall(line.partition("//")[0]):
                if item not in allowed:
                    raise TemplateError(f"{name}.cypher:{number}: {item!r} is not declared in the header")
                used.add(item)
        if unused := set(allowed) - used:
            raise TemplateError(f"{name}.cypher:1: declared but not used: {', '.join(sorted(unused))}")
    return Template(
        name=name,
        purpose=purpose,
        mode=cast(Mode, found["mode"]),
        params=declared,
        names=names,
        conditions=conditions,
        returns=tuple(re.findall(r"(\w+) ::", found["returns"])),
        needs=found["needs"],
        text="\n".join(lines[size:]).strip(),
    )


@cache
def _files() -> Mapping[str, Traversable]:
    found = resources.files(cypher_folder).iterdir()
    folders = [folder for folder in found if folder.is_dir() and folder.name != _PARTS]
    files = [file for folder in folders for file in folder.iterdir() if file.name.endswith(_ENDING)]
    return {file.name.removesuffix(_ENDING): file for file in files}


@cache
def _part(name: str) -> str:
    text = resources.files(cypher_folder).joinpath(_PARTS, name + _ENDING).read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("//"))


def _header(lines: list[str]) -> tuple[str, dict[str, str]]:
    """Return the purpose and the fields of a header; a field continues until the next one begins."""
    purpose: list[str] = []
    found: dict[str, str] = {}
    field = ""
    for line in lines:
        text = line.removeprefix("//").strip()
        if match := _FIELD.match(line):
            field = match.group(1)
            found[field] = match.group(2).strip()
        elif field:
            found[field] += f" {text}"
        else:
            purpose.append(text)
    return " ".join(purpose), found


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
