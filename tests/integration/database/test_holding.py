"""One load at a time: the lock is the database's own, held while its holder lives and free when it is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import neo4j
import pytest
from lodestar.engine.errors import DatabaseError, LoadInProgressError
from lodestar.engine.neo4j import Request, load_query
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection

HOLDER = """
import sys, time
from lodestar.engine.settings import Connection
from lodestar.engine.neo4j.gateway import Gateway

connection = Connection(sys.argv[1], sys.argv[2], sys.stdin.readline().strip(), sys.argv[3])
with Gateway(connection) as gateway, gateway.hold_load_lock():
    print("held", flush=True)
    time.sleep(600)
"""

pytestmark = pytest.mark.usefixtures("lockable")


def request(name: str) -> Request[None]:
    return Request(load_query(name), {}, lambda _: None)


@pytest.fixture
def lockable(new_database: None, gateway: Gateway) -> None:
    gateway.execute(request("ensure_load_lock"))


@pytest.fixture
def other(connection: Connection) -> Iterator[Gateway]:
    with Gateway(connection) as other:
        yield other


def refuse(gateway: Gateway) -> float:
    """Fail to take the lock in half a second; the seconds that took."""
    started_s = time.monotonic()
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(LoadInProgressError, match="another load is running on this graph: wait for it to end"),
    ):
        patch.setattr("lodestar.engine.neo4j.gateway.HOLD_WAIT_S", 0.5)
        with gateway.hold_load_lock():
            pytest.fail("two hold the lock")
    return time.monotonic() - started_s


def waiting_transactions(driver: neo4j.Driver) -> int:
    text = "SHOW TRANSACTIONS YIELD metaData WHERE metaData.query = 'hold_load_lock' RETURN count(*)"
    return int(driver.execute_query(text).records[0][0])


def test_a_second_holder_is_refused_in_time_and_leaves_nothing_waiting(
    gateway: Gateway, other: Gateway, driver: neo4j.Driver
) -> None:
    assert LoadInProgressError.exit_code == 4
    with gateway.hold_load_lock() as hold:
        assert 0.5 <= refuse(other) < 10
        assert refuse(gateway) < 10
        assert waiting_transactions(driver) == 1
        hold.check()
    assert waiting_transactions(driver) == 0
    with other.hold_load_lock() as hold:
        hold.check()
    assert driver.execute_query("MATCH (n) RETURN n").records == []


def test_who_waits_gets_the_lock_when_it_is_free(gateway: Gateway, other: Gateway) -> None:
    with gateway.hold_load_lock() as hold:
        release = threading.Timer(1, hold.release)
        started_s = time.monotonic()
        release.start()
        with other.hold_load_lock() as next_hold:
            assert 0.9 < time.monotonic() - started_s < 20
            next_hold.check()
        with pytest.raises(DatabaseError, match="this load lost its connection"):
            hold.check()


def test_a_killed_process_frees_the_lock(gateway: Gateway, connection: Connection) -> None:
    arguments = [sys.executable, "-c", HOLDER, connection.uri, connection.user, connection.database]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdin is not None
            assert holder.stdout is not None
            holder.stdin.write(f"{connection.password}\n")
            holder.stdin.flush()
            assert holder.stdout.readline() == "held\n"
            refuse(gateway)
        finally:
            os.kill(holder.pid, signal.SIGKILL)
    with gateway.hold_load_lock() as hold:
        hold.check()


def test_what_the_block_raises_passes_and_frees_the_lock(gateway: Gateway) -> None:
    with pytest.raises(OSError, match="no room"), gateway.hold_load_lock():
        raise OSError("no room")
    with gateway.hold_load_lock():
        pass
