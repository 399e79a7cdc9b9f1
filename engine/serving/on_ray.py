"""Serve on a Ray cluster: the application of `server`, in replicas of Ray Serve with an engine of their own each.

Ray's proxy on the head node listens, shares requests out among the replicas, and starts a replica again that is killed.
"""

from __future__ import annotations

import asyncio
import io
import logging
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import LodestarError, PortTakenError, UsageError
from ..parallel import Workers, connect_to_ray, prepare_ray_worker
from ..provenance import code_sha256
from ..recipes.recipe import Recipe
from ..settings import Settings
from .batches import (
    FIRST_RETRY_S,
    LAST_RETRY_S,
    Batcher,
    is_database_away,
    make_deadline_error,
    make_shutdown_error,
)
from .server import (
    KEEP_ALIVE_S,
    MAX_CONNECTIONS,
    PATIENCE_S,
    ServerOptions,
    bind_socket,
    make_application,
    say_address,
    tune_interpreter,
)

if TYPE_CHECKING:
    from types import ModuleType

Item = TypeVar("Item")
Result = TypeVar("Result")

APPLICATION = "lodestar"
KILL_AFTER_S = PATIENCE_S + 5.0
"""A replica that stops has this long to answer what it has, and to close its engine."""
_LOGGING = {"enable_access_log": False, "log_level": "WARNING"}
"""A request's line in the access log would have the question of a page's address."""
_PROXY = {"RAY_SERVE_PROXY_PREFER_LOCAL_NODE_ROUTING": "0"}
"""The one proxy would leave the replicas of other nodes idle."""


@dataclass(slots=True, eq=False)
class _Waiting:
    key: Hashable
    item: Any
    client: Hashable
    since: float
    is_waiting: bool = False


class RayServeBatcher(Batcher[Item, Result]):
    """Sends batches by `@serve.batch`, in the order in which items came; for use in a replica of Ray Serve."""

    def __post_init__(self) -> None:
        from ray import serve

        super().__post_init__()
        self._waiting: Counter[Hashable] = Counter()
        self._tasks: set[asyncio.Task[Result]] = set()
        make_batches: Any = serve.batch(
            max_batch_size=self.limits.max_batch,
            batch_wait_timeout_s=self.limits.max_wait_s,
            max_concurrent_batches=self.limits.workers,
        )
        self._send = make_batches(self._ask_batch)

    def put(self, key: Hashable, item: Item, *, client: Hashable, deadline_s: float) -> asyncio.Future[Result]:
        """Put an item into the queue and return the future that `submit` waits for."""
        self.check_room(client, 1)
        loop = asyncio.get_running_loop()
        waiting = _Waiting(key, item, client, loop.time())
        self._enter(waiting)
        task = loop.create_task(self._ask_until(waiting, deadline_s))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._leave(waiting))
        return task

    async def _stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _count_waiting(self, client: Hashable) -> int:
        return self._waiting[client]

    def _enter(self, waiting: _Waiting) -> None:
        waiting.is_waiting = True
        self._num_waiting += 1
        self._waiting[waiting.client] += 1

    def _leave(self, waiting: _Waiting) -> None:
        if waiting.is_waiting:
            waiting.is_waiting = False
            self._num_waiting -= 1
            self._waiting -= Counter((waiting.client,))

    async def _ask_until(self, waiting: _Waiting, deadline_s: float) -> Result:
        """Return the item's result; ask again while the database is away, until the deadline."""
        outcome: Result | Exception = make_deadline_error(deadline_s)
        try:
            async with asyncio.timeout(deadline_s):
                retry_s = FIRST_RETRY_S
                while True:
                    outcome = await self._send(waiting)
                    if self._closed or not isinstance(outcome, Exception) or not is_database_away(outcome):
                        break
                    self._enter(waiting)
                    await asyncio.sleep(retry_s)
                    retry_s = min(2 * retry_s, LAST_RETRY_S)
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            if self._closed:
                raise make_shutdown_error() from None
            raise
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _ask_batch(self, batch: list[_Waiting]) -> list[Result | Exception | None]:
        """Return the result of each item or its error, and None where nobody waits for it any more.

        Items of different keys are asked one key after the other.
        """
        loop = asyncio.get_running_loop()
        started = loop.time()
        live = [each for each in batch if each.is_waiting]
        if not live:
            return [None] * len(batch)
        self._observe([started - each.since for each in live])
        by_key: dict[Hashable, list[_Waiting]] = {}
        for each in live:
            self._leave(each)
            by_key.setdefault(each.key, []).append(each)
        outcomes: dict[_Waiting, Result | Exception] = {}
        self._under_way += len(live)
        try:
            for key, alike in by_key.items():
                found = await self._ask_apart(key, [each.item for each in alike])
                outcomes.update(zip(alike, found, strict=True))
        finally:
            self._under_way -= len(live)
        self._learn_speed(loop.time() - started, len(live))
        return [outcomes.get(each) for each in batch]

    async def _ask_apart(self, key: Hashable, items: Sequence[Item]) -> list[Result | Exception]:
        """Return what `ask` returns; where it fails, halve the items until those that fail are alone."""
        try:
            return list(await self.ask(key, items))
        except Exception as error:  # noqa: BLE001 - raised where the result is waited for
            if len(items) == 1 or is_database_away(error):
                return [error] * len(items)
        middle = len(items) // 2
        return [*await self._ask_apart(key, items[:middle]), *await self._ask_apart(key, items[middle:])]


def run_on_ray(
    settings: Settings,
    recipes: Mapping[str, Recipe],
    options: ServerOptions,
    replicas: Workers,
    *,
    say: Callable[[str], None] = lambda _line: None,
) -> None:
    """Serve by so many replicas until a signal; then answer waiting requests, and stop.

    Raises `UsageError` for a cluster with too few CPUs or with a Ray Serve that runs already, or if a recipe lacks
    something, and `PortTakenError` if the port is in use.
    """
    options.check()
    for recipe in recipes.values():
        recipe.check()
    # Ray prints on standard output what it does again, also where it is quiet.
    with redirect_stdout(io.StringIO()), connect_to_ray(replicas.ray) as ray:
        num = replicas.count_on(ray, option="--replicas")
        if is_serving(ray):
            raise UsageError(
                f"--ray {replicas.ray}: a Ray Serve runs there already, with an address of its own: end it with "
                "`serve shutdown` on its head node"
            )
        options = replace(options, port=_check_port(ray, replicas.ray, options))
        try:
            _start(ray, make_deployment(settings, recipes, options, num), options)
            with catch_signals() as stop:
                say_address(options, say)
                stop.wait()
                ray.serve.delete(APPLICATION)
        finally:
            ray.serve.shutdown()


def is_serving(ray: ModuleType) -> bool:
    """Return whether Ray Serve runs on a connected cluster."""
    return any(each["namespace"] == "serve" for each in ray.util.list_named_actors(all_namespaces=True))


@contextmanager
def catch_signals() -> Iterator[threading.Event]:
    """Yield what is set by Ctrl-C or `SIGTERM`, which do nothing else meanwhile."""
    stop = threading.Event()
    before = {each: signal.signal(each, lambda *_: stop.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _start(ray: ModuleType, application: Any, options: ServerOptions) -> None:
    """Start Ray's proxy at the address, and the replicas; return when they answer."""
    from ray import serve

    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    serve.start(
        proxy_location="HeadOnly",
        http_options={"host": options.host, "port": options.port, "keep_alive_timeout_s": KEEP_ALIVE_S},
        logging_config=_LOGGING,
        controller_options={"runtime_env": {"env_vars": _PROXY}},
    )
    try:
        serve.run(application, name=APPLICATION, logging_config=_LOGGING)
    except (ray.exceptions.RayError, RuntimeError) as error:
        raise _read_failure(error) from error


def make_deployment(
    settings: Settings, recipes: Mapping[str, Recipe], options: ServerOptions, num_replicas: int
) -> Any:
    """Return the deployment of the application: each replica checks its node, and opens an engine of its own."""
    from ray import serve

    folder, code = str(Path.cwd()), code_sha256()

    def build_application() -> Any:
        prepare_ray_worker(folder, code)
        tune_interpreter()
        replica = serve.get_replica_context().replica_id.unique_id
        return make_application(settings, recipes, options, make_batches=RayServeBatcher, replica=replica)

    # More requests than wait and run, so that the application's own queue is what refuses.
    max_requests = options.limits.max_queue + MAX_CONNECTIONS
    deployment: Any = serve.deployment(
        name=APPLICATION,
        num_replicas=num_replicas,
        max_ongoing_requests=max_requests,
        max_queued_requests=max_requests,
        ray_actor_options={"num_cpus": 1},
        graceful_shutdown_wait_loop_s=0.1,
        graceful_shutdown_timeout_s=KILL_AFTER_S,
    )
    return deployment(serve.ingress(build_application)()).bind()


def _check_port(ray: ModuleType, address: str, options: ServerOptions) -> int:
    """Return the port, a free one for 0; raise `PortTakenError` if the head node is here and it is in use."""
    head = next(each for each in ray.nodes() if "node:__internal_head__" in each["Resources"])
    if head["NodeManagerAddress"] == ray.util.get_node_ip_address() and not address.startswith("ray://"):
        with bind_socket(options.host, options.port) as listening:
            return int(listening.getsockname()[1])
    if not options.port:
        raise UsageError("--port 0: expected a port of the head node, which is another machine")
    return options.port


def _read_failure(error: Exception) -> LodestarError:
    """Return the error of a replica that did not start, of which Ray has the text."""
    text = str(error)
    if found := re.search(rf"\.{UsageError.__name__}: (.*)", text):
        return UsageError(found[1])
    if "address already in use" in text.lower():
        return PortTakenError("another process listens at this port of the head node: give another --port")
    return LodestarError("--ray: the replicas did not start: Ray's logs say why")
