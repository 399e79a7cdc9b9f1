"""Run the server: check address, token and requests, count them, and answer what waits before it stops."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from secrets import compare_digest
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...models.placement import limit_blas_threads
from ..errors import PortTakenError, UsageError
from ..evidence.evidence import Evidence, Item
from ..recipes import Recipe
from ..settings import Settings, is_loopback
from .app import AppOptions, get_client, make_app
from .batches import BatchLimits, OverloadedError
from .schemas import make_error_body
from .service import Service

if TYPE_CHECKING:
    from .mcp import McpTools

TOKEN_VARIABLE = "LODESTAR_TOKEN"  # noqa: S105 - a name
MIN_TOKEN_CHARS = 16
PATIENCE_S = 10.0
BACKLOG = 512
MAX_CONNECTIONS = 1_000
KEEP_ALIVE_S = 30
SWITCH_S = 0.0005
GC_THRESHOLDS = (50_000, 20, 20)
QUESTION_PATHS = frozenset({"/v1/ask", "/v1/retrieve", "/v1/ask/stream", "/v1/chat/completions"})


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server's address, access rules and limits."""

    host: str = "127.0.0.1"
    port: int = 8080
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    limits: BatchLimits = field(default_factory=BatchLimits)
    token: str = field(default_factory=lambda: os.environ.get(TOKEN_VARIABLE, ""), repr=False)

    def check(self) -> None:
        """Raise `UsageError` for a public address without a token, or a token that is easy to guess."""
        if self.token and len(self.token) < MIN_TOKEN_CHARS:
            raise UsageError(
                f"{TOKEN_VARIABLE}: expected at least {MIN_TOKEN_CHARS} characters, found {len(self.token)}: make one "
                "with `openssl rand -hex 32`"
            )
        if not is_loopback(self.host) and not self.token:
            raise UsageError(
                f"--host {self.host}: others reach this address, so that a token is needed: set {TOKEN_VARIABLE} (make "
                "one with `openssl rand -hex 32`), or listen at 127.0.0.1"
            )
        for origin in self.origins:
            if not origin.startswith(("http://", "https://")) or origin.count("/") != 2:
                raise UsageError(f"--allow-origin: expected an origin as https://a.example, found {origin!r}")


def run_server(
    settings: Settings,
    recipes: Mapping[str, Recipe],
    options: ServerOptions,
    *,
    say: Callable[[str], None] = lambda _line: None,
) -> None:
    """Serve until a signal; then answer waiting requests and stop. Raise `PortTakenError` if the port is in use."""
    options.check()
    listening = bind_socket(options.host, options.port)
    app = make_application(settings, recipes, options)
    listening.listen(BACKLOG)  # whoever reads the address may connect at once
    say_address(replace(options, port=listening.getsockname()[1]), say)
    tune_interpreter()
    make_server(app).run(sockets=[listening])


def say_address(options: ServerOptions, say: Callable[[str], None]) -> None:
    """Say where the server listens, and what a request needs."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    mcp = ", MCP at /mcp" if make_mcp_tools() else ""
    say(f"lodestar: http://{host}:{options.port}/ (documentation at /docs{mcp}); Ctrl-C ends it")
    if not is_loopback(options.host):
        say(f"lodestar: others reach it; requests need the token in {TOKEN_VARIABLE}")


def tune_interpreter() -> None:
    """Let the event loop run soon although batches compute in threads, and collect garbage more rarely.

    A thread holds the interpreter for `SWITCH_S` at most while another waits. Replies are large and made of plain data
    without cycles: with Python's own thresholds the collector took half of the time that writes them.
    """
    limit_blas_threads()
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(*GC_THRESHOLDS)


def make_server(app: Any) -> uvicorn.Server:
    """Return uvicorn for an application, with limits for connections."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(PATIENCE_S),
    )
    return uvicorn.Server(config)


def make_application(settings: Settings, recipes: Mapping[str, Recipe], options: ServerOptions) -> Any:
    """Return the complete application (ASGI): endpoints, pages, metrics and MCP."""
    access = AccessRules.of(options.host, token=options.token, more_hosts=options.hosts, origins=options.origins)
    metrics = Metrics()
    tools = make_mcp_tools()
    mcp = None if tools is None else (tools.http(sorted(access.hosts), sorted(access.origins)), tools.running)

    def make_service() -> Service:
        return Service(settings, recipes, limits=options.limits, metrics=metrics)

    app = make_app(
        make_service, AppOptions(cache_dir=settings.cache_dir, metrics=metrics, mcp=mcp, patience_s=PATIENCE_S)
    )
    known = {getattr(route, "path", None) for route in app.routes} - {None}

    def count(_method: str, path: str, status: int, seconds: float) -> None:
        endpoint = path if path in known or path == "/mcp" else "other"
        metrics.requests.labels(endpoint, str(status)).inc()
        metrics.refused.inc(status == 429)
        metrics.request_seconds.labels(endpoint).observe(seconds)

    def check_room(scope: Scope) -> None:
        if scope["path"] in QUESTION_PATHS:
            app.state.service.batches.check_room(get_client(scope), 1)

    guarded: ASGIApp = Guard(app, access, count, check_room)
    if access.origins:
        guarded = CORSMiddleware(
            guarded,
            allow_origins=sorted(access.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    return guarded


def make_mcp_tools() -> McpTools | None:
    """Return the tools for agents; None if the extra mcp is not installed."""
    try:
        from .mcp import McpTools
    except ImportError:
        return None
    return McpTools()


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket; raise `PortTakenError`, or `UsageError` for an address that is not this machine's."""
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        family = socket.AF_INET
    # asyncio sends at once (TCP_NODELAY) only where the protocol is named: without it each reply took 40 ms more.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if error.errno == 98 or "in use" in str(error):
            raise PortTakenError(f"another process listens at {host}:{port}: give another --port, or 0") from error
        raise UsageError(f"--host {host}: cannot listen there: {error.strerror or error}") from error
    return listening


# What a request must have

MAX_BODY_BYTES = 2_000_000
MAX_DISCARDED_BYTES = 8_000_000
"""Of a body that is too large: a client that still sends when the connection closes would lose the answer."""
DISCARD_TIMEOUT_S = 2.0
BODY_TIMEOUT_S = 10.0

OPEN = ("/", "/healthz", "/readyz", "/docs", "/openapi.json")
"""Paths that say nothing of the graph, and so need no token; those under `ASSETS` neither."""
ASSETS = "/assets/"

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

Count = Callable[[str, str, int, float], None]
"""Told method, path, status and seconds of each request."""
CheckRoom = Callable[[Scope], None]
"""Raises `OverloadedError` if a request would not be answered."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Which requests are accepted.

    hosts: names in the header Host, without a port. origins: other sites whose pages may send requests. token: empty if
    none is required.
    """

    hosts: frozenset[str] = frozenset(LOOPBACK)
    origins: frozenset[str] = frozenset()
    token: str = field(default="", repr=False)

    @classmethod
    def of(
        cls, host: str, *, token: str = "", more_hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> AccessRules:
        """Return the rules of a server that listens at a host."""
        named = () if host in ("0.0.0.0", "::", "") else (f"[{host}]" if ":" in host else host,)  # noqa: S104
        return cls(frozenset((*LOOPBACK, *named, *more_hosts)), frozenset(origins), token)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and reason if a request is refused, else None."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        name = _without_port(host)
        if name not in self.hosts:
            known = ", ".join(sorted(self.hosts))
            return (
                421,
                f"host {host[:80]!r} is not this server's: expected one of {known}, or start it with --allow-host",
            )
        origin = headers.get(b"origin")
        if origin is not None and origin not in self.origins and not _same_place(origin, host):
            return 403, f"origin {origin[:80]!r} may not ask here: start the server with --allow-origin {origin[:80]}"
        path = scope["path"]
        if self.token and path not in OPEN and not path.startswith(ASSETS) and scope["method"] != "OPTIONS":
            given = headers.get(b"authorization", "").partition(" ")[2].strip()
            if not compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
                return 401, "expected the server's token as 'Authorization: Bearer TOKEN' (LODESTAR_TOKEN)"
        return None


class Guard:
    """Refuses requests before any of their body is read."""

    def __init__(
        self, app: ASGIApp, access: AccessRules, count: Count | None = None, check_room: CheckRoom | None = None
    ) -> None:
        self._app = app
        self._doors = access
        self._count = count
        self._check_room = check_room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def counting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_SAFE]
            await send(message)

        try:
            refusal = self._doors.refusal(scope)
            if refusal is not None:
                await _refuse(counting, *refusal)
                return
            if self._check_room is not None:
                self._check_room(scope)
            await self._with_body(scope, receive, counting)
        except OverloadedError as error:  # before a body is parsed: under overload most requests end here
            await _refuse(counting, 429, str(error), headers=[(b"retry-after", str(error.retry_after_s).encode())])
        finally:
            if self._count is not None:
                self._count(scope["method"], scope["path"], status, time.perf_counter() - started)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if said.isdigit() and int(said) > MAX_BODY_BYTES:
            await _refuse(send, 413, f"the body has {int(said):,} bytes: expected at most {MAX_BODY_BYTES:,}", receive)
            return
        pieces: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return  # the client is gone
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    if size > MAX_BODY_BYTES:
                        said_size = f"the body has more than {MAX_BODY_BYTES:,} bytes, the most there may be"
                        await _refuse(send, 413, said_size, receive)
                        return
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            await _refuse(send, 408, f"the body did not arrive within {BODY_TIMEOUT_S:g} s")
            return
        body: list[Message] = [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]

        async def replay() -> Message:
            return body.pop() if body else await receive()

        await self._app(scope, replay, send)


_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


async def _refuse(
    send: Send,
    status: int,
    message: str,
    receive: Receive | None = None,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Send an error, and with `receive` read on for a while, so that a client that still sends gets to read it."""
    body = make_error_body(status, message)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": receive is not None})
    if receive is not None:
        await _discard_body(receive)
        await send({"type": "http.response.body", "body": b""})


async def _discard_body(receive: Receive) -> None:
    discarded = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_TIMEOUT_S):
            more = True
            while more and discarded < MAX_DISCARDED_BYTES:
                message = await receive()
                discarded += len(message.get("body", b""))
                more = message["type"] == "http.request" and message.get("more_body", False)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _same_place(origin: str, host: str) -> bool:
    """Return whether a page at an origin came from the server that it asks."""
    try:
        return urlsplit(origin).netloc.lower() == host.lower() and bool(host)
    except ValueError:
        return False


# Metrics

_STAGES = (
    (re.compile(r"link|topics|nearest names"), "link"),
    (re.compile(r"hop \d+|ground|subgraph.*|expand.*|similarity|star|reg-.*|gril"), "expand"),
    (re.compile(r"score.*|encode.*|propose.*"), "score"),
    (re.compile(r"answer"), "answer"),
)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The server's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        timed: dict[str, Any] = own | {"buckets": _SECONDS}
        self.requests = Counter("lodestar_requests", "HTTP requests", ("endpoint", "status"), **own)
        self.request_seconds = Histogram("lodestar_request_seconds", "Seconds to the answer", ("endpoint",), **timed)
        self.stage_seconds = Histogram("lodestar_stage_seconds", "Seconds of a batch by stage", ("stage",), **timed)
        self.batch_size = Histogram("lodestar_batch_size", "Batch sizes", buckets=(1, 2, 4, 8, 16, 32, 64), **own)
        self.queue_seconds = Histogram("lodestar_queue_seconds", "Seconds a question waited", **timed)
        self.queue = Gauge("lodestar_queue", "Questions that wait", **own)
        self.refused = Counter("lodestar_refused", "Requests refused for overload", **own)
        self.questions = Counter("lodestar_questions", "Questions by outcome", ("outcome",), **own)
        self.cuts = Counter("lodestar_cuts", "Bounds that cut evidence", **own)
        self.round_trips = Counter("lodestar_round_trips", "Requests to the database", **own)
        self.tokens = Counter("lodestar_tokens", "Tokens of the language model", ("direction",), **own)

    def count_waits(self, waits_s: Sequence[float]) -> None:
        """Count a batch whose questions have waited so long."""
        self.batch_size.observe(len(waits_s))
        for seconds in waits_s:
            self.queue_seconds.observe(seconds)

    def count_batch(self, evidence: Sequence[Evidence[Item]]) -> None:
        """Count the stages and outcomes of a batch; its costs are those of its first question."""
        seconds: dict[str, float] = {}
        for cost in evidence[0].trace if evidence else ():
            stage = next((stage for pattern, stage in _STAGES if pattern.fullmatch(cost.stage)), "rerank")
            seconds[stage] = seconds.get(stage, 0.0) + cost.seconds
            self.round_trips.inc(cost.round_trips)
            self.tokens.labels("prompt").inc(cost.llm.prompt_tokens)
            self.tokens.labels("completion").inc(cost.llm.completion_tokens)
        for stage, taken in seconds.items():
            self.stage_seconds.labels(stage).observe(taken)
        for each in evidence:
            self.cuts.inc(len(each.cuts))
            self.questions.labels(each.reason or ("found" if each.items else "nothing")).inc()

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self.registry)
