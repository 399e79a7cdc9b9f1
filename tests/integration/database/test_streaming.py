"""Rows one at a time: all of them, in order, in little memory, and no transaction left behind."""

from __future__ import annotations

import time

import neo4j
import pytest
from lodestar.engine.errors import DatabaseError, DatabaseUnavailableError
from lodestar.engine.neo4j import Request, Template
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection

COUNTING = Template("counting", "read", "UNWIND range(1, $last) AS n\nRETURN n, toString(n) AS text")
FAILING = Template("failing", "read", "UNWIND range(1, $last) AS n\nRETURN 1 / (n - 3) AS n")


def numbers(last: int) -> Request[int]:
    return Request(COUNTING, {"last": last}, lambda rows: int(rows[0][0]))


def open_transactions(driver: neo4j.Driver) -> int:
    text = "SHOW TRANSACTIONS YIELD metaData WHERE metaData.query = 'counting' RETURN count(*)"
    return int(driver.execute_query(text).records[0][0])


def test_who_stops_early_ends_the_transaction(gateway: Gateway, driver: neo4j.Driver) -> None:
    rows = gateway.stream(numbers(1_000_000_000), 10)
    assert [next(rows) for _ in range(25)] == list(range(1, 26))
    assert open_transactions(driver) == 1
    started_s = time.monotonic()
    rows.close()
    assert time.monotonic() - started_s < 10
    assert open_transactions(driver) == 0
    for number in gateway.stream(numbers(1_000_000_000), 10):
        if number == 3:
            break
    assert open_transactions(driver) == 0


def test_errors_are_lodestars_wherever_they_come(gateway: Gateway) -> None:
    rows = gateway.stream(Request(FAILING, {"last": 10}, lambda rows: int(rows[0][0])), 1)
    with pytest.raises(DatabaseError, match="/ by zero"):
        list(rows)
    with Gateway(Connection("bolt://127.0.0.1:1", password="x")) as nowhere:
        rows = nowhere.stream(numbers(1))
        with pytest.raises(DatabaseUnavailableError):
            next(rows)
