"""Run a call in a daemon thread, which does not keep the process alive: Ctrl-C ends who waits for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def start(call: Callable[[], T], name: str) -> Future[T]:
    """Start the call in a thread of this name and return its future; cancelling it has no effect on the call."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it again
            future.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return future
