"""Start a call in a thread, or map one over parts of a work: in threads, or on the workers of a Ray cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from .errors import LodestarError, UsageError, require_extra

if TYPE_CHECKING:
    from types import ModuleType

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

LOCAL = "local"
"""The address that starts a Ray of this machine's own, and ends it with the work."""
MAX_TRIES = 4
"""How often a part is worked on whose worker is killed."""
CONNECT_S = 10.0
_PACKAGE = __name__.partition(".")[0]

_log = logging.getLogger(__name__)


def start_in_thread(call: Callable[[], T], name: str) -> Future[T]:
    """Start the call in a thread of this name and return its future; cancelling it has no effect on the call.

    The thread is a daemon, which does not keep the process alive: Ctrl-C ends who waits for it.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it again
            future.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return future


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """Who works: threads of this process or, with the address `ray`, actors of that cluster.

    num: how many; 0 is one thread, or an actor for each CPU of the cluster.
    """

    num: int = 0
    ray: str = ""

    def map(self, work: Callable[[P], R], parts: Sequence[P], *, ordered: bool = True) -> Generator[R, None, None]:
        """Yield the result of each part in order, or as they are finished.

        On Ray each actor gets a copy of `work` by pickling (`PerProcessResource` has what cannot be copied). An actor
        that is killed is started again, and does its part again. When the caller stops, waiting parts are left undone.
        Raises what `work` raises, and `LodestarError` for a part whose worker is killed `MAX_TRIES` times.
        """
        if self.ray and parts:
            return self._map_on_ray(work, parts, ordered=ordered)
        return self._map_in_threads(work, parts, ordered=ordered)

    def _map_in_threads(self, work: Callable[[P], R], parts: Sequence[P], *, ordered: bool) -> Generator[R, None, None]:
        if self.num <= 1:  # in this thread, which Ctrl-C ends at once
            yield from map(work, parts)
            return
        with ThreadPoolExecutor(self.num, thread_name_prefix="lodestar-part") as pool:
            try:
                futures = [pool.submit(work, part) for part in parts]
                for future in futures if ordered else as_completed(futures):
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _map_on_ray(self, work: Callable[[P], R], parts: Sequence[P], *, ordered: bool) -> Generator[R, None, None]:
        with _connect_to_ray(self.ray) as ray:
            from ray.util import ActorPool

            from .machine import code_sha256

            cpus = int(ray.cluster_resources().get("CPU", 0))
            if cpus < max(self.num, 1):
                raise UsageError(
                    f"--workers {self.num}: expected at most one for each CPU of the cluster, it has {cpus}"
                )
            num = min(self.num or cpus, len(parts))
            actor = ray.remote(_Hand).options(num_cpus=1, max_restarts=-1, max_task_retries=MAX_TRIES - 1)
            shared, folder = [ray.put(work)], str(Path.cwd())
            hands = [actor.remote(folder, code_sha256()) for _ in range(num)]
            pool: Any = ActorPool(hands)
            each = pool.map if ordered else pool.map_unordered
            said: set[str] = set()
            try:
                for result, warnings in each(lambda hand, part: hand.do.remote(shared, part), parts):
                    for warning in warnings:
                        if warning not in said:
                            _log.warning(warning)
                    said.update(warnings)
                    yield result
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                raise LodestarError(
                    f"--ray: a worker ended {MAX_TRIES} times at the same part: Ray's logs say why; if memory is "
                    "short, give fewer --workers"
                ) from error
            finally:
                for hand in hands:
                    ray.kill(hand)


HERE = WorkerPool()
"""The thread that asks."""


class PerProcessResource(Generic[T]):
    """What each process opens for itself at first use: its pickle has only the function that opens it.

    Closed at the end of the `with` block in the process that has it.
    """

    def __init__(self, open_it: Callable[[], AbstractContextManager[T]]) -> None:
        self._open_it = open_it
        self._opening = Lock()
        self._stack = ExitStack()
        self._opened: list[T] = []

    @property
    def value(self) -> T:
        with self._opening:
            if not self._opened:
                self._opened.append(self._stack.enter_context(self._open_it()))
            return self._opened[0]

    def __reduce__(self) -> tuple[type[PerProcessResource[T]], tuple[object]]:
        return type(self), (self._open_it,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)


class _Hand:
    """An actor: does parts in a process of Ray, in the folder of the process that asked for it.

    Raises `UsageError` on a node with other code, or without the folder.
    """

    def __init__(self, folder: str, code: str) -> None:
        self._folder = folder
        self._code = code
        self._work: Callable[[Any], Any] | None = None
        self._heard = _Heard()
        logging.getLogger(_PACKAGE).addHandler(self._heard)

    def do(self, shared: Sequence[Any], part: Any) -> tuple[Any, list[str]]:
        """Return the result of a part, and the warnings logged meanwhile. shared: where Ray has the function, alone."""
        import ray

        if self._work is None:
            self._check_node()
            self._work = ray.get(shared[0])
        assert self._work is not None
        result = self._work(part)
        warnings, self._heard.lines = self._heard.lines, []
        return result, warnings

    def _check_node(self) -> None:
        from .machine import code_sha256

        if code_sha256() != self._code:
            raise UsageError("--ray: a node has another Lodestar than this command: install the same one on every node")
        try:
            os.chdir(self._folder)
        except OSError as error:
            raise UsageError(
                f"--ray: a node has no folder {self._folder} ({error.strerror}): work in a folder that all nodes share"
            ) from error


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextmanager
def _connect_to_ray(address: str) -> Iterator[ModuleType]:
    require_extra("ray", "--ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    own: dict[str, Any] = {}
    if address == LOCAL:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # Ray's name for a node on the loopback alone
        own["include_dashboard"] = False
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host:  # Ray itself would try for a minute
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        import ray

        is_ours = not ray.is_initialized()
        if is_ours:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise UsageError(f"--ray {address}: no Ray of this version answers there: {_first_line(error)}") from error
    try:
        yield ray
    finally:
        if is_ours:
            ray.shutdown()


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
