"""Reading a server's log, and Ctrl-C while a process is made."""

from __future__ import annotations

import signal

import pytest
from lodestar.engine.server.process import failure_reason, held_interrupt

STACK = """2026-01-01 00:00:00.000+0000 INFO  Starting...
2026-01-01 00:00:01.000+0000 ERROR Failed to start Neo4j on localhost:7474.
java.lang.RuntimeException: Error starting Neo4j database server
\tat org.neo4j.Some.thing(Some.java:1)
Caused by: org.neo4j.kernel.lifecycle.LifecycleException: Component failed
\t... 9 more
Caused by: java.net.BindException: Address already in use
\t... 12 more
"""


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (STACK, "java.net.BindException: Address already in use"),
        ("Error occurred during initialization of VM\nToo small maximum heap\n", "Too small maximum heap"),
        ("x INFO  Starting...\nx ERROR Invalid setting 'a'\nx INFO  Stopped.\n", "Invalid setting 'a'"),
        ("one\n\n   two  \n\tat nowhere\n", "two"),
        ("", ""),
    ],
)
def test_the_reason_of_a_failed_start(log: str, reason: str) -> None:
    assert failure_reason(log) == reason


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    reached = False
    with pytest.raises(KeyboardInterrupt), held_interrupt():
        signal.raise_signal(signal.SIGINT)
        reached = True
    assert reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_interrupt_stays_ignored() -> None:
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held_interrupt():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, previous)
