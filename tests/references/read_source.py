"""A source read to its end, without a stage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
from lodestar.loaders.reading import LINES
from lodestar.loaders.source import ROWS, FileWithParser, Part, Source
from lodestar.loaders.stage import prepare_sql_parser


@dataclass
class ReadSource:
    """What a source says, in the order of its lines."""

    triples: list[tuple[str, str, str]] = field(default_factory=list)
    literals: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    """Value, datatype and language of the tails that are literals."""
    names: dict[str, list[str]] = field(default_factory=dict)
    rejects: list[tuple[int, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Rows by category; lines that RereadableFile rejects are rejects."""


def read_source(source: Source) -> ReadSource:
    read = ReadSource()
    for part in source.parts():
        for row in sorted(part_rows(part, read), key=lambda row: (row["line"], row["tag"] or "")):
            read.counts[row["category"]] += 1
            match row["category"]:
                case "triple":
                    read.triples.append((row["head"], row["relation"], row["tail"]))
                    if row["is_literal"]:
                        read.literals.append((row["tail"], row["datatype"], row["language"]))
                case "name":
                    names = read.names.setdefault(row["head"], [])
                    if row["tail"] not in names:
                        names.append(row["tail"])
                case "reject":
                    read.rejects.append((row["line"], row["reason"]))
    return read


@cache
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def part_rows(part: Part, read: ReadSource) -> list[dict[str, Any]]:
    if not isinstance(part, FileWithParser):
        return [row for batch in part.batches for row in batch.to_pylist()]

    def reject(line: int, reason: str, text: str) -> None:
        read.rejects.append((line, reason))
        read.counts["reject"] += 1

    con = connection()
    text = prepare_sql_parser(con, part.parser, part.parameters)
    con.register("lines", pa.Table.from_batches(list(part.file.batches(reject)), LINES))
    table = con.sql(text).to_arrow_table()
    assert [(column.name, str(column.type)) for column in table.schema] == [(f.name, str(f.type)) for f in ROWS]
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
