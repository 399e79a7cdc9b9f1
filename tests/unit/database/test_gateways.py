"""The gateways of a connection: opened once by however many tasks, closed, and opened anew after a failure."""

from __future__ import annotations

import asyncio

import pytest
from lodestar.engine.errors import DatabaseUnavailableError
from lodestar.engine.neo4j import gateway
from lodestar.engine.neo4j.connection import Connection, Gateways


class FakeGateway:
    """Counts who is open; the first to be opened finds no server."""

    made = 0
    is_open = 0

    def __init__(self, _connection: Connection) -> None:
        FakeGateway.made += 1
        FakeGateway.is_open += 1
        self.number = FakeGateway.made

    async def version(self) -> str:
        await asyncio.sleep(0)
        if self.number == 1:
            raise DatabaseUnavailableError("no server")
        return "5.26"

    async def close(self) -> None:
        FakeGateway.is_open -= 1


def test_many_tasks_open_one_gateway_of_their_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "AsyncGateway", FakeGateway)
    gateways = Gateways(Connection("bolt://127.0.0.1:1"))

    async def use() -> int:
        with pytest.raises(DatabaseUnavailableError):
            await gateways.of_loop()
        assert FakeGateway.is_open == 0
        found = await asyncio.gather(*(gateways.of_loop() for _ in range(5)))
        await gateways.aclose()
        return len(set(found))

    assert asyncio.run(use()) == 1
    assert (FakeGateway.made, FakeGateway.is_open) == (2, 0)
