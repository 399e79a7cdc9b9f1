"""Lines through a SQL parser, and what it says of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import duckdb
import pyarrow as pa
from lodestar.loaders.formats.freebase import noise_parameters
from lodestar.loaders.parsers import prepare_parser
from lodestar.loaders.reading.lines import LINES


class Parsed(NamedTuple):
    """What a line is; fields that its category does not have are None."""

    category: str
    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    is_literal: bool = False
    datatype: str | None = None
    language: str | None = None
    tag: str | None = None
    reason: str | None = None


_FIELDS = {
    "triple": ("head", "relation", "tail", "is_literal", "datatype", "language", "tag"),
    "name": ("head", "tail", "language", "tag"),
    "reject": ("reason",),
}


@cache
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def parsed(name: str, parameters: Mapping[str, object], lines: Sequence[str]) -> list[tuple[int, Parsed]]:
    """Return line number and meaning of every row, in the order of `repr_by_line`."""
    table = pa.table({"line": range(1, len(lines) + 1), "text": pa.array(lines, pa.string())}).cast(LINES)
    return rows_of(name, parameters, table)


def rows_of(name: str, parameters: Mapping[str, object], lines: pa.Table) -> list[tuple[int, Parsed]]:
    con = connection()
    text = prepare_parser(con, name, parameters)
    con.register("lines", lines)
    rows = con.sql(text).to_arrow_table().to_pylist()
    by_line = dict(zip(*lines.to_pydict().values(), strict=True))
    for row in rows:
        if row["category"] == "reject":
            assert row["tail"] == by_line[row["line"]]
    meanings = (
        (row["line"], Parsed(row["category"], **{field: row[field] for field in _FIELDS.get(row["category"], ())}))
        for row in rows
    )
    return sorted(meanings, key=repr_by_line)


def repr_by_line(row: tuple[int, Parsed]) -> tuple[int, str]:
    return row[0], repr(row[1])


def freebase_parameters(languages: Sequence[str], every: bool) -> dict[str, object]:
    return {"languages": list(languages), "all_languages": every, **noise_parameters()}


def delimited_parameters(**changed: object) -> dict[str, object]:
    return {
        "separator": "\t",
        "quoted": False,
        "columns": [1, 2, 3],
        "width": 3,
        "expected": "head, relation and tail parted by tabs",
        "header_line": 0,
        "literals": True,
        "value_pattern": None,
        **changed,
    }
