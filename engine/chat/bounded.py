"""The HTTP client beneath the `openai` client: no redirect is followed, no body too large, nothing past its deadline.

A reply is read piece by piece and unpacked here, so that neither an endless body nor one that is small only while it is
packed fills the memory. Importing this module imports `openai`.
"""

from __future__ import annotations

import asyncio
import math
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import openai

from .streaming import tell

MAX_BODY_BYTES = 8_000_000

_ends_s: ContextVar[float] = ContextVar("ends_s")
"""When the call under way ends at the latest, on the clock of its event loop."""

_BODY_HEADERS = {"content-encoding", "content-length", "content-type", "transfer-encoding"}
"""Left out of what is handed on: they are about the body as it came. A charset could name any decoder of Python's."""
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


@asynccontextmanager
async def deadline(timeout_s: float) -> AsyncIterator[None]:
    """Bound what the block sends, its attempts and waits included; raises `TimeoutError`."""
    async with asyncio.timeout(timeout_s) as bound:
        _ends_s.set(bound.when() or math.inf)
        yield


class UnreadableReplyError(openai.OpenAIError):
    """A reply that is too large, or packed in a way that was not asked for; the message continues "… sent"."""


_SENT_HEADERS = {"accept", "authorization", "connection", "content-length", "content-type", "host", "user-agent"}
"""All that a request to an address other than OpenAI's has; the `openai` client adds those of its environment."""


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """Sends requests as its parent does, proxies of the environment included.

    bearer: the key to send, and no header that the `openai` client took from its environment; None leaves them.
    """

    def __init__(self, *, bearer: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._bearer = bearer

    async def send(self, request: Any, **options: Any) -> Any:
        """Return the response with its body read and unpacked; raises `UnreadableReplyError`."""
        own = request.headers.copy()  # the openai client reads its own from the request of the response
        if self._bearer is not None:
            for name in [name for name in request.headers if name.lower() not in _SENT_HEADERS]:
                del request.headers[name]
            request.headers["authorization"] = f"Bearer {self._bearer}"
        request.headers["accept-encoding"] = "gzip"
        options |= {"stream": True, "follow_redirects": False}
        response = await super().send(request, **options)
        request.headers = own
        try:
            body = await unpacked(response.aiter_raw(), response.headers.get("content-encoding", ""))
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _BODY_HEADERS]
        if _asks_to_wait_s(response.headers) > _ends_s.get() - asyncio.get_running_loop().time():
            headers.append(("x-should-retry", "false"))  # obeyed by the openai client: its wait would be for nothing
        return type(response)(response.status_code, headers=headers, content=body, request=request)


async def unpacked(pieces: AsyncIterator[bytes], encoding: str) -> bytes:
    """Return what the pieces of a body hold; at most `MAX_BODY_BYTES` and a piece are ever in memory."""
    encoding = encoding.strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise UnreadableReplyError("a body in an encoding that was not asked for")
    unpack = None if encoding in {"", "identity"} else zlib.decompressobj(_GZIP_OR_ZLIB)
    body = bytearray()
    num_read = 0
    async for piece in pieces:
        num_read += len(piece)
        try:
            more = piece if unpack is None else unpack.decompress(piece, MAX_BODY_BYTES + 1 - len(body))
            body += more
        except zlib.error:
            raise UnreadableReplyError("a body that cannot be unpacked") from None
        if max(num_read, len(body)) > MAX_BODY_BYTES:
            raise UnreadableReplyError(f"a body of more than {MAX_BODY_BYTES / 1e6:g} MB")
        tell(more)
    return bytes(body)


def _asks_to_wait_s(headers: Mapping[str, str]) -> float:
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return 0.0
