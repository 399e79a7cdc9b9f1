"""An event loop in a thread of its own: one asynchronous implementation serves blocking callers and any other loop."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """An event loop that starts at the first `submit` and ends with `close`, or when nobody holds this object."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: weakref.finalize[[asyncio.AbstractEventLoop], BackgroundLoop] | None = None

    @property
    def started(self) -> bool:
        """Whether there is a loop now."""
        return self._loop is not None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the work and return what to wait for; cancelling that cancels the work."""
        with self._starting:
            if self._loop is None:
                runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
                self._loop = runner.get_loop()
                self._end = weakref.finalize(self, _stop, self._loop)
                threading.Thread(target=_run, args=(runner,), name="lodestar-chat", daemon=True).start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the loop; work that is under way is cancelled. The next `submit` starts another."""
        with self._starting:
            if self._end is not None:
                self._end()
            self._loop = self._end = None


def _run(runner: asyncio.Runner) -> None:
    with runner:
        runner.get_loop().run_forever()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon_threadsafe(loop.stop)
