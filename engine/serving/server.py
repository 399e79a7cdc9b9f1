"""Run the server: check address, token and requests, count them, and answer what waits before it stops."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import compare_digest
from typing import Any

import uvicorn
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...models.placement import limit_blas_threads
from ..errors import PortTakenError, UsageError, missing_packages
from ..evidence import Answer
from ..progress import print_to_stderr
from ..recipes import Recipe
from ..settings import Settings, is_loopback
from . import Service
from .app import PATIENCE_S, make_app, make_error_response

TOKEN_VARIABLE = "LODESTAR_TOKEN"  # noqa: S105 - a name
MIN_TOKEN_CHARS = 16
BACKLOG = 512
HEADER_TIMEOUT_S = 20.0
BODY_TIMEOUT_S = 10.0
MAX_CONNECTIONS = 1_000
MAX_BODY_BYTES = 500_000
MAX_READ_BYTES = 8_000_000
"""Of a body that is too large: a client that still sends when the connection closes would lose the answer."""

OPEN = ("/", "/healthz", "/readyz", "/docs", "/openapi.json")
"""Paths that say nothing of the graph, and so need no token; those under `ASSETS` neither."""
ASSETS = "/assets/"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server's address, access rules and limits.

    hosts: more names that the header Host may have. token: empty if none is required.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    hosts: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: os.environ.get(TOKEN_VARIABLE, ""), repr=False)

    def check(self) -> None:
        """Raise `UsageError` for a public address without a token, or a token that is easy to guess."""
        if self.token and len("".join(self.token.split())) < MIN_TOKEN_CHARS:
            raise UsageError(
                f"{TOKEN_VARIABLE}: expected at least {MIN_TOKEN_CHARS} characters without blanks: make one with "
                "`openssl rand -hex 32`"
            )
        if not is_loopback(self.host) and not self.token:
            raise UsageError(
                f"--host {self.host}: others reach this address, so that a token is needed: set {TOKEN_VARIABLE} (make "
                "one with `openssl rand -hex 32`), or listen at 127.0.0.1"
            )

    @property
    def known_hosts(self) -> list[str]:
        """The names that the header Host may have, without a port."""
        own = () if self.host in ("0.0.0.0", "::", "") else (self.host,)  # noqa: S104 - compared
        return sorted({*LOOPBACK, *own, *self.hosts})

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host, origin, path = headers.get(b"host", ""), headers.get(b"origin"), scope["path"]
        name, colon, port = host.rpartition(":")
        if (name if colon and port.isdigit() else host).lower() not in self.known_hosts:
            known = ", ".join(self.known_hosts)
            return 421, f"host {host[:80]!r} is not one of this server's ({known}): start it with --allow-host"
        if origin is not None and (not host or origin.partition("://")[2].lower() != host.lower()):
            return 403, f"pages of {origin[:80]!r} may not ask here: put both behind one address"
        if self.token and path not in OPEN and not path.startswith(ASSETS):
            given = headers.get(b"authorization", "").partition(" ")[2].strip()
            if not compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
                return 401, "expected the server's token as 'Authorization: Bearer TOKEN' (LODESTAR_TOKEN)"
        return None


def run_server(settings: Settings, recipe: Recipe, options: ServerOptions) -> None:
    """Serve until a signal; then answer waiting requests and stop. Raise `PortTakenError` if the port is in use."""
    options.check()
    listening = bind_socket(options.host, options.port)
    app = make_application(settings, recipe, options)
    listening.listen(BACKLOG)  # whoever reads the address may connect at once
    address = f"{options.host}:{listening.getsockname()[1]}"
    mcp = "" if missing_packages("mcp") else ", MCP at /mcp"
    print_to_stderr(f"lodestar: http://{address}/ (documentation at /docs{mcp}); Ctrl-C ends it")
    limit_blas_threads()
    sys.setswitchinterval(0.0005)  # the event loop runs soon although batches compute in threads
    gc.set_threshold(50_000, 20, 20)  # replies are plain data without cycles: the collector took half of writing them
    make_server(app).run(sockets=[listening])


class _Protocol(H11Protocol):
    """Closes a connection whose next request's head is not whole in time."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head(None)

    def on_response_complete(self) -> None:
        last = self.cycle
        super().on_response_complete()
        self._await_head(last)

    def _await_head(self, last: Any) -> None:
        self.loop.call_later(HEADER_TIMEOUT_S, lambda: self.cycle is last and self.transport.close())


def make_server(app: ASGIApp) -> uvicorn.Server:
    """Return uvicorn for an application, with limits for connections."""
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        loop="asyncio",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=int(HEADER_TIMEOUT_S),
        timeout_graceful_shutdown=int(PATIENCE_S),
    )
    return uvicorn.Server(config)


def make_application(settings: Settings, recipe: Recipe, options: ServerOptions) -> ASGIApp:
    """Return the complete application (ASGI): endpoints, pages, metrics and, where the extra mcp is installed, MCP."""
    metrics, tools = Metrics(), None
    service = Service(settings, recipe, metrics)
    if not missing_packages("mcp"):
        from .mcp import McpTools

        tools = McpTools(service)
    app = make_app(service, tools)
    paths = {getattr(route, "path", "") for route in app.routes}
    return Guard(app, options, metrics, frozenset(paths))


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket; raise `PortTakenError`, or `UsageError` for what is no IPv4 address of this machine."""
    # asyncio sends at once (TCP_NODELAY) only where the protocol is named: without it each reply took 40 ms more.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if error.errno == 98 or "in use" in str(error):
            raise PortTakenError(f"another process listens at {host}:{port}: give another --port, or 0") from error
        raise UsageError(f"--host {host}: cannot listen there: {error.strerror or error}") from error
    return listening


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses requests before any of their body is read, and bodies that are too large or too slow; counts all."""

    app: ASGIApp
    options: ServerOptions
    metrics: Metrics
    paths: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
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
            if refusal := self.options.refusal(scope):
                await _refuse(*refusal)(scope, receive, counting)
            else:
                await self._with_body(scope, receive, counting)
        finally:
            endpoint = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.count_request(endpoint, status, time.perf_counter() - started)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        size = int(length) if length.isdigit() and int(length) > MAX_READ_BYTES else 0
        pieces: list[bytes] = []
        more = True
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                while more and size <= MAX_READ_BYTES:
                    message = await receive()
                    if message["type"] != "http.request":
                        return  # the client is gone
                    size += len(message.get("body", b""))
                    if size <= MAX_BODY_BYTES:
                        pieces.append(message.get("body", b""))
                    more = message.get("more_body", False)
        except TimeoutError:
            await _refuse(408, f"the body did not arrive within {BODY_TIMEOUT_S:g} s")(scope, receive, send)
            return
        if size > MAX_BODY_BYTES:
            too_large = _refuse(413, f"the body is too large: expected at most {MAX_BODY_BYTES:,} bytes")
            await too_large(scope, receive, send)
            return
        body: list[Message] = [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]

        async def replay() -> Message:
            return body.pop() if body else await receive()

        await self.app(scope, replay, send)


def _refuse(status: int, message: str) -> ASGIApp:
    headers = {401: {"www-authenticate": "Bearer"}, 408: {"connection": "close"}, 413: {"connection": "close"}}
    return make_error_response(status, message, headers.get(status))


class Metrics:
    """The server's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("lodestar_requests", "HTTP requests", ("endpoint", "status"), **own)
        self.request_seconds = Histogram("lodestar_request_seconds", "Seconds to the answer", ("endpoint",), **own)
        self.stage_seconds = Histogram("lodestar_stage_seconds", "Seconds of a batch by stage", ("stage",), **own)
        self.queue = Gauge("lodestar_queue", "Questions that wait", **own)
        self.questions = Counter("lodestar_questions", "Questions by outcome", ("outcome",), **own)
        self.round_trips = Counter("lodestar_round_trips", "Requests to the database", **own)
        self.tokens = Counter("lodestar_tokens", "Tokens of the language model", ("direction",), **own)

    def count_request(self, endpoint: str, status: int, seconds: float) -> None:
        self.requests.labels(endpoint, str(status)).inc()
        self.request_seconds.labels(endpoint).observe(seconds)

    def count_batch(self, answers: Sequence[Answer]) -> None:
        """Count the stages and outcomes of a batch; its costs are those of its first question."""
        for cost in answers[0].evidence.trace.costs if answers else ():
            self.stage_seconds.labels(cost.stage).observe(cost.seconds)
            self.round_trips.inc(cost.round_trips)
            self.tokens.labels("prompt").inc(cost.llm.prompt_tokens)
            self.tokens.labels("completion").inc(cost.llm.completion_tokens)
        for each in answers:
            self.questions.labels(each.reason or ("found" if each.evidence.items else "nothing")).inc()
