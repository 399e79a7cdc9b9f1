"""Refuse requests with a wrong host, origin or token, and bodies that are too large or too slow."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from secrets import compare_digest
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .batches import OverloadedError

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


def make_error_body(status: int, message: str) -> bytes:
    """Return an error body in OpenAI's format, as every endpoint does."""
    kind = "invalid_request_error" if status < 500 and status != 429 else "server_error"
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, kind)
    error = {"message": message, "type": kind, "param": None, "code": status}
    return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "replace")


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
