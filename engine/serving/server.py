"""Run the server: check its address and token, listen, and answer waiting requests before it stops."""

from __future__ import annotations

import gc
import ipaddress
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import uvicorn

from ...models.placement import limit_blas_threads
from ..errors import PortTakenError, UsageError
from ..recipes.recipe import Recipe
from ..settings import Settings, is_loopback
from .app import AppOptions, make_app
from .batches import BatchLimits
from .guard import AccessRules
from .metrics import Metrics
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

    return make_app(
        make_service,
        AppOptions(access=access, cache_dir=settings.cache_dir, metrics=metrics, mcp=mcp, patience_s=PATIENCE_S),
    )


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
