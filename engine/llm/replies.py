"""Read an endpoint's replies, within bounds, whole or as server-sent events.

A reply is read and decompressed in chunks here, so that neither an endless body nor a decompression bomb fills the
memory.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import math
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeGuard

import openai

from ..values import TokenUsage
from .prompts import Completion, Prompt, UnusableReplyError, drop_cut_line

MAX_TOKENS = 10**9
"""More tokens than any reply has."""
MAX_REPLY_CHARS = 100_000
"""Of the text of a reply, so that parsing it takes little time."""


def parse_completion(body: bytes, prompt: Prompt, model: str, name: str) -> Completion:
    """Return the completion in a response body. Raises `UnusableReplyError`, whose message starts with the model's
    `name`.

    A reply that was cut off is an error unless the prompt itself set the limit and the caller can read it so; one that
    should be JSON, and is lines instead, lacks the last of them.
    """
    try:
        reply = json.loads(body.decode("utf-8", "replace"))
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise UnusableReplyError(
            f"{name} sent a body that is no chat completion: check that LODESTAR_LLM_BASE_URL is OpenAI-compatible",
            Completion(""),
        ) from None
    if finish == "length" and prompt.json:
        content = drop_cut_line(content)
    usage = _usage(reply.get("usage"))
    completion = Completion(content, usage=usage, model=model)
    if refusal.strip():
        return Completion("", refusal, usage, model=model)
    if finish == "content_filter":
        return Completion("", "its content filter stopped the reply", usage, model=model)
    if finish == "length" and (prompt.max_tokens is None or not prompt.is_read(content)):
        limit = f"{prompt.max_tokens} tokens: " if prompt.max_tokens else "the server's output limit: raise it, or "
        raise UnusableReplyError(f"{name} was cut off at {limit}use another model", completion)
    if finish == CUT:
        raise UnusableReplyError(f"{name} stopped in the middle of its reply: try again", completion)
    if not content.strip():
        raise UnusableReplyError(f"{name} sent an empty reply: try again, or use another model", completion)
    if len(content) > MAX_REPLY_CHARS:
        raise UnusableReplyError(
            f"{name} sent a reply of {len(content):,} characters: expected at most {MAX_REPLY_CHARS:,}", completion
        )
    return replace(completion, logprobs=_logprobs(choice.get("logprobs")))


def _text(content: object) -> str:
    """Return a message's text, which may come in parts, as valid UTF-8; empty if it has none."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content.encode("utf-8", "replace").decode("utf-8") if isinstance(content, str) else ""


def _logprobs(listed: object) -> tuple[tuple[str, float], ...]:
    """Return the tokens of a reply with their log-probabilities; empty if some are missing or there are too many.

    Endpoints write a token that ends within a character in their own ways, but say its bytes: the character then stands
    at its last token.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        tokens = listed["content"] if isinstance(listed, dict) else ()
        found = tuple((_token_text(token, decoder), _number(token["logprob"])) for token in tokens)
    except (AttributeError, KeyError, TypeError, ValueError):
        return ()
    is_usable = sum(len(token) for token, _ in found) <= 2 * MAX_REPLY_CHARS  # special tokens are not in the text
    return found if is_usable and all(math.isfinite(logprob) for _, logprob in found) else ()


def _token_text(token: dict[str, Any], decoder: codecs.IncrementalDecoder) -> str:
    listed = token.get("bytes")
    return decoder.decode(bytes(listed)) if isinstance(listed, list) else _text(token["token"])


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def _usage(counted: object) -> TokenUsage | None:
    """Return the reported token counts of a reply; None if they are missing or no numbers."""
    if not isinstance(counted, dict):
        return None
    prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        return TokenUsage(prompt, completion)
    return None


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS


MAX_BODY_BYTES = 8_000_000

_ends_s: ContextVar[float] = ContextVar("ends_s")
"""The deadline of the current call, on the clock of its event loop."""

_BODY_HEADERS = {"content-encoding", "content-length", "content-type", "transfer-encoding"}
"""Headers about the compressed body, which are removed. A charset could name any Python decoder."""
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32


@asynccontextmanager
async def limit_time(timeout_s: float) -> AsyncIterator[None]:
    """Bound the time of the block's requests, attempts and waits included. Raises `TimeoutError`."""
    async with asyncio.timeout(timeout_s) as bound:
        _ends_s.set(bound.when() or math.inf)
        yield


class BadResponseBodyError(openai.OpenAIError):
    """A reply that is too large, or in an unrequested encoding; the message continues "… sent"."""


_SENT_HEADERS = {"accept", "authorization", "connection", "content-length", "content-type", "host", "user-agent"}
"""The only headers of a request to another address than OpenAI's; the `openai` client adds headers from its
environment.
"""


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """An HTTP client like its parent, proxies of the environment included, that bounds the response.

    bearer: the key to send, without the headers that the `openai` client takes from its environment; None leaves them.
    """

    def __init__(self, *, bearer: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._bearer = bearer

    async def send(self, request: Any, **options: Any) -> Any:
        """Return the response with its body read and decompressed. Raises `BadResponseBodyError`."""
        own = request.headers.copy()  # the openai client reads its headers from the response's request
        if self._bearer is not None:
            for name in [name for name in request.headers if name.lower() not in _SENT_HEADERS]:
                del request.headers[name]
            request.headers["authorization"] = f"Bearer {self._bearer}"
        request.headers["accept-encoding"] = "gzip"
        options |= {"stream": True, "follow_redirects": False}
        response = await super().send(request, **options)
        request.headers = own
        try:
            body = await unpack_body(response.aiter_raw(), response.headers.get("content-encoding", ""))
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _BODY_HEADERS]
        if _asks_to_wait_s(response.headers) > _ends_s.get() - asyncio.get_running_loop().time():
            headers.append(("x-should-retry", "false"))  # tells the openai client not to wait in vain
        return type(response)(response.status_code, headers=headers, content=body, request=request)


async def unpack_body(pieces: AsyncIterator[bytes], encoding: str) -> bytes:
    """Return the decompressed body; at most `MAX_BODY_BYTES` and one chunk are in memory."""
    encoding = encoding.strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise BadResponseBodyError("a body in an unrequested encoding")
    unpack = None if encoding in {"", "identity"} else zlib.decompressobj(_GZIP_OR_ZLIB)
    body = bytearray()
    hear = listen_to_body()
    num_read = 0
    async for piece in pieces:
        num_read += len(piece)
        try:
            more = piece if unpack is None else unpack.decompress(piece, MAX_BODY_BYTES + 1 - len(body))
            body += more
        except zlib.error:
            raise BadResponseBodyError("a body that cannot be decompressed") from None
        if max(num_read, len(body)) > MAX_BODY_BYTES:
            raise BadResponseBodyError(f"a body of more than {MAX_BODY_BYTES / 1e6:g} MB")
        hear(more)
    hear(b"\n")  # ends the last line
    return bytes(body)


def _asks_to_wait_s(headers: Mapping[str, str]) -> float:
    try:
        return float(headers.get("retry-after", ""))
    except ValueError:
        return 0.0


# Replies that come as server-sent events

END = b"data: [DONE]"
STREAM_OPTIONS: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
"""What asks an endpoint for events, by the names in the protocol; one that knows none of it replies as a whole."""

CUT = "cut"
"""The finish reason of a stream that ends without one, and without the event that ends streams."""

_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


class _Listener:
    """Tells the text of a reply as it comes; an attempt after a cut one goes on where the told text ends."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._num_told = 0

    def of_body(self) -> Callable[[bytes], None]:
        """Return what hears the pieces of one body."""
        rest, num_heard = b"", 0

        def hear(piece: bytes) -> None:
            nonlocal rest, num_heard
            *lines, rest = (rest + piece).split(b"\n")
            for text in filter(None, map(_text_of, lines)):
                new = text[max(0, self._num_told - num_heard) :]
                num_heard += len(text)
                self._num_told = max(self._num_told, num_heard)
                if new:
                    self._on_text(new)

        return hear


@contextmanager
def listen(on_text: Callable[[str], None] | None) -> Iterator[None]:
    """Tell the text of the reply that is read in the block, as it comes."""
    token = _listener.set(None if on_text is None else _Listener(on_text))
    try:
        yield
    finally:
        _listener.reset(token)


def listen_to_body() -> Callable[[bytes], None]:
    """Return what is told the pieces of a body that is about to be read."""
    listener = _listener.get()
    return (lambda _piece: None) if listener is None else listener.of_body()


def merge_events(body: bytes) -> bytes:
    """Return a body of events as the body of a reply that came as a whole; any other body as it is.

    The finish reason is `CUT` if the events end in the middle.
    """
    lines = [line.strip() for line in body.split(b"\n")]
    if not any(line.startswith(b"data:") for line in lines):
        return body
    said: dict[str, str] = {"content": "", "refusal": ""}
    finish: str | None = None if END in lines else CUT
    usage = None
    logprobs: list[Any] = []
    for line in lines:
        chunk = _chunk(line)
        usage = chunk.get("usage") or usage
        choice = _choice(chunk)
        finish = choice.get("finish_reason") or finish
        tokens = choice.get("logprobs")
        logprobs += tokens["content"] if isinstance(tokens, dict) and isinstance(tokens.get("content"), list) else []
        delta = choice.get("delta")
        for name in said:
            text = delta.get(name) if isinstance(delta, dict) else None
            said[name] += text if isinstance(text, str) else ""
    choice = {"message": said, "finish_reason": finish, "logprobs": {"content": logprobs} if logprobs else None}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


def _text_of(line: bytes) -> str:
    """Return the text that a line of events adds."""
    delta = _choice(_chunk(line)).get("delta")
    text = delta.get("content") if isinstance(delta, dict) else None
    return text if isinstance(text, str) else ""


def _choice(chunk: dict[str, Any]) -> dict[str, Any]:
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _chunk(line: bytes) -> dict[str, Any]:
    """Return the data of a line of events; empty for any other line."""
    if not line.startswith(b"data:"):
        return {}
    try:
        chunk = json.loads(line[5:].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return chunk if isinstance(chunk, dict) else {}
