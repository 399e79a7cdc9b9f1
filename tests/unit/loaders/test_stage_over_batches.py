"""Batches made while a statement runs: what they raise is what the caller sees."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest
from lodestar.engine.errors import InputError
from lodestar.loaders.stage.sql import run_on_batches

SCHEMA = pa.schema([("number", pa.int64())])
TEXT = "INSERT INTO kept SELECT number FROM fed"


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("CREATE TABLE kept (number BIGINT)")
        yield opened


def batches(failure: BaseException | None = None) -> Iterator[pa.RecordBatch]:
    for first in (0, 3):
        yield pa.record_batch([pa.array([first, first + 1, first + 2])], schema=SCHEMA)
    if failure:
        raise failure


def test_the_statement_reads_all_batches(connection: duckdb.DuckDBPyConnection) -> None:
    run_on_batches(connection, TEXT, "fed", SCHEMA, batches())
    assert connection.execute("SELECT sum(number) FROM kept").fetchall() == [(15,)]
    with pytest.raises(duckdb.CatalogException):
        connection.execute("SELECT * FROM fed")


@pytest.mark.parametrize(
    "failure", [InputError("kg.tsv:3: bad"), KeyboardInterrupt(), OSError(28, "No space left")], ids=repr
)
def test_a_failure_leaves_as_it_was_raised(connection: duckdb.DuckDBPyConnection, failure: BaseException) -> None:
    with pytest.raises(type(failure)) as raised:
        run_on_batches(connection, TEXT, "fed", SCHEMA, batches(failure))
    assert raised.value is failure
    with pytest.raises(duckdb.CatalogException):
        connection.execute("SELECT * FROM fed")
