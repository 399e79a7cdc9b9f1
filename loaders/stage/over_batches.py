"""Statements over batches that are made while they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import duckdb
import pyarrow as pa


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
