"""Queries of `cypher/`, and the requests that are made of them.

The comment at the head of a file says in a line ``mode: read | write | schema`` how it runs. In its text ``{{NAME}}``
stands for a quoted identifier, and a line ``{{> part}}`` for the text of ``cypher/parts/part.cypher``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Generic, LiteralString, TypeVar

from ... import cypher

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")

T = TypeVar("T")
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    name: str
    mode: str
    text: str

    def render(self, names: Mapping[str, str | Sequence[str]]) -> LiteralString:
        """Return the query in Cypher 5, whatever the server's default is, with its placeholders filled, by any of
        several names where there is a list of them.

        Identifiers are quoted, so that the result is as safe as a literal.
        """

        def fill(place: re.Match[str]) -> str:
            found = names[place[1]]
            return "|".join(map(quote_identifier, [found] if isinstance(found, str) else found))

        filled = PLACEHOLDER.sub(fill, self.text)
        rendered: Any = f"CYPHER 5 {filled}"
        return rendered  # type: ignore[no-any-return]


def quote_identifier(identifier: str) -> str:
    """Return the identifier in back-ticks, with inner back-ticks doubled.

    Raises `ValueError` for text that Cypher would read as other characters.
    """
    if not identifier or "\x00" in identifier or "\\u" in identifier:
        raise ValueError(f"not usable as a name in Cypher: {identifier!r}")
    return "`" + identifier.replace("`", "``") + "`"


@cache
def load_query(name: str) -> QueryTemplate:
    """Return the template of ``<name>.cypher`` from any folder of `cypher/`."""
    source = _files()[f"{name}.cypher"].read_text(encoding="utf-8")
    mode = re.search(r"^// mode: *(\w+)$", source, re.MULTILINE)
    assert mode, f"{name}.cypher has no line `mode:`"
    text = re.sub(r" *\{\{> (\w+)\}\}", lambda part: _files()[f"{part[1]}.cypher"].read_text(encoding="utf-8"), source)
    lines = (line for line in text.splitlines() if not line.startswith("//"))
    return QueryTemplate(name, mode[1], "\n".join(lines).strip())


def list_query_names() -> list[str]:
    """Return the names of all templates, sorted; other files of `cypher/` have pieces of queries."""
    texts = {name: file.read_text(encoding="utf-8") for name, file in _files().items()}
    return sorted(name.removesuffix(".cypher") for name, text in texts.items() if "// mode:" in text)


@cache
def _files() -> Mapping[str, Traversable]:
    folders = [folder for folder in resources.files(cypher).iterdir() if folder.is_dir()]
    return {file.name: file for folder in folders for file in folder.iterdir() if file.name.endswith(".cypher")}


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One query: a template, its parameters, and a function that decodes its rows.

    `decode` gets the rows as tuples in the order of the template's ``returns``; `names` fills its placeholders.
    """

    template: QueryTemplate
    params: Mapping[str, Any]
    decode: Callable[[Sequence[Row]], T]
    names: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


MAX_REQUEST_CHARS = 4_000_000
"""Bound of the texts of one request, because the database holds several copies of them."""


def split_into_request_batches(
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
