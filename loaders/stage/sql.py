"""Read the stage's queries and run them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import duckdb
import pyarrow as pa


@cache
def query(name: str) -> str:
    """Return the text of a file of `queries`, named by folder and file: ``reading/take``."""
    return resources.files(__name__.rpartition(".")[0]).joinpath(f"queries/{name}.sql").read_text(encoding="utf-8")


def set_variables(connection: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> None:
    """Set variables of a connection, which are not those of its cursors."""
    for name, value in values.items():
        connection.execute(f"SET VARIABLE {name} = ?", [value])


def run_on_batches(
    connection: duckdb.DuckDBPyConnection, text: str, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> None:
    """Run a statement that reads batches once, as a table.

    What they raise, an interrupt too, leaves as it was raised: DuckDB would make an error of its own of it.
    """
    failures: list[BaseException] = []

    def guard_batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except BaseException as failure:  # noqa: BLE001 - raised again below, outside of DuckDB
            failures.append(failure)

    connection.register(table, pa.RecordBatchReader.from_batches(schema, guard_batches()))
    try:
        connection.execute(text)
    except Exception:
        if not failures:
            raise
    finally:
        connection.unregister(table)
    if failures:
        raise failures[0]
