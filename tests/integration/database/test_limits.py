"""A query that needs too much time is ended in the database and named; many at once hold nobody up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.errors import QueryTimeoutError
from lodestar.engine.neo4j import Request
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.serving import Batcher, DeadlineExceededError
from lodestar.engine.settings import Connection

from tests.conftest import OpenOver
from tests.made.graphs import TripleSource

NUMBERS = range(12)
WORKS = [("ann", "made", f"work{n}") for n in NUMBERS] + [
    (f"work{n}", "genre", "film" if n % 2 else "poem") for n in NUMBERS
]
ASKED = "What was made by Ann?"


class Text:
    """A query of a test's own, as a template."""

    mode, name = "read", "of_a_test"

    def __init__(self, text: str) -> None:
        self.text = text

    def render(self, _names: object) -> str:
        return self.text


def request(text: str) -> Request[Any]:
    return Request(cast(Any, Text(text)), {}, list)


def running(driver: neo4j.Driver) -> list[Any]:
    text = "SHOW TRANSACTIONS YIELD metaData WHERE metaData.query = 'of_a_test' RETURN metaData"
    return driver.execute_query(text).records


@pytest.fixture(scope="module")
def works(open_over: OpenOver) -> Iterator[Engine]:
    with open_over(TripleSource(WORKS, {"ann": "Ann", **{f"work{n}": f"Work {n}" for n in NUMBERS}})) as engine:
        yield engine


def test_a_query_past_its_time_is_ended_in_the_database(connection: Connection, driver: neo4j.Driver) -> None:
    with (
        Gateway(replace(connection, timeout_s=1.0)) as gateway,
        pytest.raises(QueryTimeoutError, match="more than 1 s"),
    ):
        gateway.run(request("UNWIND range(1, 10000000000) AS i RETURN count(i % 7)"))
    end_s = time.monotonic() + 20
    while running(driver) and time.monotonic() < end_s:
        time.sleep(0.1)
    assert not running(driver)


async def test_a_query_for_which_nobody_waits_any_more_is_ended_in_the_database(
    gateway: Gateway, driver: neo4j.Driver
) -> None:
    slow = request("UNWIND range(1, 10000000000) AS i RETURN count(i % 7)")
    batches = Batcher(lambda _key, items: gateway.run_all([slow for _ in items]))
    with pytest.raises(DeadlineExceededError):
        await batches.ask("k", "a", 2.0)
    end_s = time.monotonic() + 20  # a query by itself has 30 s
    while running(driver) and time.monotonic() < end_s:
        await asyncio.sleep(0.1)
    assert not running(driver)
    await batches.close(1)


def test_many_questions_ask_the_database_no_other_queries_than_few(
    works: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, texts = neo4j.ManagedTransaction.run, set[str]()

    def noted(transaction: Any, text: Any, *arguments: Any, **options: Any) -> Any:
        texts.add(str(text))
        return run(transaction, text, *arguments, **options)

    monkeypatch.setattr(neo4j.ManagedTransaction, "run", noted)
    works.ask_batch([ASKED, "What is the genre of Work 3?"])
    few = set(texts)
    assert len(works.ask_batch([ASKED, *(f"What is the genre of Work {n % 12}?" for n in range(100))])) == 101
    assert texts == few
