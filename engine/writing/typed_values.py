"""Compute the typed values of literals: numbers with their dimensions, and dates as the days they may mean.

Every writer keeps them beside a literal's text, so that every comparison reads the same value. Which texts have one:
``typed_values.sql``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources

import duckdb
import pyarrow as pa

FIELDS = ("number", "dimension", "first_day", "last_day")
"""The properties of a typed value; those that a text has none of are null."""


MAX_CHARS = 41
"""Longer texts have no typed value."""


@cache
def typed_value_macros() -> str:
    """Return the statements that define ``typed_values('TABLE')`` on a connection of DuckDB."""
    return resources.files(__name__.rpartition(".")[0]).joinpath("typed_values.sql").read_text(encoding="utf-8")


def find_typed_values(literals: Sequence[tuple[str, str | None]]) -> list[Mapping[str, object]]:
    """Return the typed values of texts with their datatypes, by `FIELDS`."""
    found: list[Mapping[str, object]] = [dict.fromkeys(FIELDS)] * len(literals)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(typed_value_macros())
        columns = {"key": range(len(literals)), "text": pa.array((text for text, _ in literals), pa.string())}
        datatypes = pa.array((datatype for _, datatype in literals), pa.string())
        connection.register("literals", pa.table({**columns, "datatype": datatypes}))
        for key, *values in connection.execute("FROM typed_values('literals')").fetchall():
            found[key] = dict(zip(FIELDS, values, strict=True))
    return found


def add_typed_values(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return rows of entities (by name) or literals (by value, datatype and language) with their typed values."""
    rows = list(rows)
    texts = [
        ("" if row.get("language") else str(row.get("value") or row.get("name") or ""), row.get("datatype"))
        for row in rows
    ]
    return [{**row, **typed} for row, typed in zip(rows, find_typed_values(texts), strict=True)]  # type: ignore[arg-type]


@lru_cache(1_000)
def to_base_unit(number: float | None, unit: str) -> tuple[float | None, str]:
    """Return a number in the base unit of its dimension, and the dimension; both as they are where it is not known."""
    if number is None or not unit:
        return number, ""
    (typed,) = find_typed_values([(f"{number!r} {unit}", None)])
    found = typed["number"]
    return (found, str(typed["dimension"])) if isinstance(found, float) else (number, unit)
