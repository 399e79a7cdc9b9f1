"""Add or remove the triples of a few lines, by a format's own parser, without a stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from ...engine.errors import InputError
from ...engine.neo4j.gateway import Gateway
from ...engine.writing.changing import MAX_TRIPLES, ChangeReport, add_triples, remove_triples
from ...engine.writing.names import Name
from ...engine.writing.stated import LiteralValue, Stated
from ..parsers.parser import read_parser
from ..reading.lines import LINES
from ..source import LineFile, Source


def add_lines(source: Source, gateway: Gateway) -> ChangeReport:
    """Add the triples and names of a source of lines as one change; raise `InputError` with the place of a bad line."""
    triples, names = read_lines(source)
    return add_triples(gateway, triples, names)


def remove_lines(source: Source, gateway: Gateway, *, missing_ok: bool = False) -> ChangeReport:
    """Remove the triples of a source of lines as one change."""
    return remove_triples(gateway, read_lines(source)[0], missing_ok=missing_ok)


def read_lines(source: Source) -> tuple[list[Stated], dict[str, list[Name]]]:
    """Return the triples and the names that a source of lines states; raise `InputError` for a line it cannot read."""
    triples: list[Stated] = []
    said: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for part in source.parts():
        for row in _rows(part):
            match row["category"]:
                case "triple":
                    value = LiteralValue(row["tail"], row["datatype"], row["language"])
                    triples.append((row["head"], row["relation"], value if row["is_literal"] else row["tail"]))
                case "name":
                    said[row["head"]].append(row)
                case "reject":
                    raise InputError(f"{source.name}:{row['line']}: {row['reason']}: nothing was changed")
        if len(triples) > MAX_TRIPLES:
            raise InputError(
                f"{source.name}: expected at most {MAX_TRIPLES:,} triples, found more: name the format, as in "
                f"`lodestar load {source.kind} - --append`"
            )
    return triples, {id_: _order_names(rows, source.languages) for id_, rows in said.items()}


def _order_names(rows: list[dict[str, Any]], languages: Sequence[str]) -> list[Name]:
    """Return the names of an entity: names before aliases, then by language as the source prefers them."""
    ranks = {language: rank for rank, language in enumerate(languages)}
    rows = sorted(rows, key=lambda row: (row["tag"] == "alias", ranks.get((row["language"] or "").lower(), len(ranks))))
    return [
        Name(row["tail"], row["language"] or "", is_alias=row["tag"] == "alias" or (place > 0 and row["tag"] is None))
        for place, row in enumerate(rows)
    ]


def _rows(part: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a part, in the order of the lines."""
    if not isinstance(part, LineFile):
        raise InputError(f"{part.shown}: expected lines of a format that has a triple each")
    rejects: list[dict[str, Any]] = []

    def reject(line: int, reason: str, _: str) -> None:
        rejects.append({"line": line, "category": "reject", "reason": reason})

    with duckdb.connect(config={"threads": 1}) as connection:
        found = read_parser(part.parser)
        found.prepare(connection, part.parameters)
        connection.register("lines", pa.Table.from_batches(list(part.file.batches(reject)), LINES))
        rows = connection.sql(found.text).to_arrow_table().to_pylist()
    yield from sorted([*rejects, *rows], key=lambda row: row["line"])
