"""A database that takes a question and says nothing holds nobody for long."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest
from lodestar.engine.settings import GRACE_S, Connection

from tests.e2e.conftest import run_process

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

TIMEOUT_S = 2.0


@contextmanager
def stalling(uri: str, after_bytes: int) -> Iterator[str]:
    """Yield the address of a proxy that hands on so many bytes of the database's, and then no more."""
    at = urlsplit(uri)
    listener = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = []

    def hand_on(source: socket.socket, target: socket.socket, left: float) -> None:
        while left > 0 and (data := source.recv(1 << 16)):
            target.sendall(data[: int(min(left, len(data)))])
            left -= len(data)

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection((at.hostname or "", at.port or 7687))
            opened.extend((client, server))
            for pair in ((client, server, float("inf")), (server, client, after_bytes)):
                threading.Thread(target=quietly, args=pair, daemon=True).start()

    def quietly(*pair: object) -> None:
        with suppress(OSError):
            hand_on(*pair)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"bolt://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for each in (listener, *opened):
            each.close()


@pytest.mark.parametrize("after_bytes", [0, 4, 300, 700, 1_500])
def test_ask_ends_soon_with_one_line(environment: dict[str, str], connection: Connection, after_bytes: int) -> None:
    with stalling(connection.uri, after_bytes) as uri:
        given = {
            **environment,
            "LODESTAR_URI": uri,
            "LODESTAR_PASSWORD": connection.password,
            "LODESTAR_QUERY_TIMEOUT_S": str(TIMEOUT_S),
        }
        started_s = time.monotonic()
        ran = run_process(given, "ask", "What is the capital of Peru?", timeout=120)
        took_s = time.monotonic() - started_s
    assert ran.returncode == 4, ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert took_s < 2 * (TIMEOUT_S + GRACE_S) + 10
