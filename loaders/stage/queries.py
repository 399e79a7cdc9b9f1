"""Run the stage's SQL files over batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from ..reading.lines import Chosen
from ..subset import Subset


@cache
def query(name: str) -> str:
    """Return the text of a file of `queries`, named by folder and file: ``reading/take``."""
    return resources.files(__name__.rpartition(".")[0]).joinpath(f"queries/{name}.sql").read_text(encoding="utf-8")


def set_variables(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> None:
    """Set variables of a connection, which are not those of its cursors."""
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])


def run_over(
    connection: duckdb.DuckDBPyConnection, text: str, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> None:
    """Run a statement that reads batches once, as a table.

    What they raise, an interrupt too, leaves as it was raised: DuckDB would make an error of its own of it.
    """
    failures: list[BaseException] = []

    def guarded() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except BaseException as failure:  # noqa: BLE001 - raised again below, outside of DuckDB
            failures.append(failure)

    connection.register(table, pa.RecordBatchReader.from_batches(schema, guarded()))
    try:
        connection.execute(text)
    finally:
        connection.unregister(table)
    if failures:
        raise failures[0]


def restriction(subset: Subset) -> dict[str, object]:
    """Return the variables that the macro `is_wanted` reads."""
    return {
        "by_domain": bool(subset.domains),
        "by_relation": bool(subset.relations),
        "wanted_pattern": subset.relation_pattern,
    }


class WantedRelations:
    """Answers by relation, each asked for once, with a cursor of its own: another query may be under way meanwhile."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, subset: Subset) -> None:
        self._cursor = connection.cursor()
        self._known: dict[str, bool] = {}
        self._all = not (subset.domains or subset.relations)
        set_variables(self._cursor, restriction(subset))

    def among(self, relations: pa.StringArray) -> Chosen | None:
        """Return which of the relations are wanted, None when all relations are."""
        if self._all:
            return None
        names = relations.to_pylist()
        if unknown := [name for name in names if name not in self._known]:
            self._cursor.register("asked_relation", pa.table({"name": unknown}))
            self._known.update(self._cursor.execute(query("reading/wanted")).fetchall())
        return np.array([self._known[name] for name in names], np.bool_)
