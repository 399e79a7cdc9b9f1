"""A language model that follows a script: an OpenAI-compatible endpoint on a real socket at 127.0.0.1.

Each chat request gets the next reply of the script; what was asked is kept in `requests`::

    with ScriptedLLM([status(429, {"Retry-After": "1"}), says('{"answers": ["Sol"]}')]) as llm:
        client = openai.OpenAI(base_url=llm.base_url, api_key="k")
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

MAX_HANG_S = 60.0


@dataclass(frozen=True)
class Reply:
    """What the server does with one request: sends this, `cut_after_bytes` of the body only, or nothing (`hangs`).

    The pieces of a `stream` are sent as they come, until there are no more or nobody reads them; `body` is not.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after_bytes: int | None = None
    hangs: bool = False
    stream: Callable[[], Iterable[bytes]] | None = None


@dataclass(frozen=True)
class Request:
    """A chat request as it arrived: header names in lower case, `at_s` the monotonic time of its arrival."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    at_s: float

    @property
    def prompt(self) -> str:
        """The one user message."""
        (message,) = self.body["messages"]
        assert message["role"] == "user"
        content = message["content"]
        assert isinstance(content, str)
        return content


def completion(message: Mapping[str, Any], finish_reason: str = "stop", num_tokens: int = 1) -> Reply:
    """Reply with a chat completion that holds this message, and says so many tokens of it and of the prompt."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": num_tokens, "completion_tokens": num_tokens, "total_tokens": 2 * num_tokens},
    }
    return raw(json.dumps(body))


def says(content: str | Mapping[str, Any], finish_reason: str = "stop") -> Reply:
    """Reply with this content; a mapping is sent as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    return completion({"content": text, "refusal": None}, finish_reason)


def refuses(words: str) -> Reply:
    """Reply with a refusal in the model's own field for it."""
    return completion({"content": None, "refusal": words})


def status(number: int, headers: Mapping[str, str] | None = None, **error: Any) -> Reply:
    """Reply with an HTTP error and OpenAI's form of its body."""
    body = {"error": {"message": "scripted failure", "type": "scripted", "param": None, "code": None, **error}}
    return Reply(number, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})


def raw(body: str | bytes, content_type: str = "application/json") -> Reply:
    """Reply 200 with exactly this body."""
    return Reply(200, body.encode() if isinstance(body, str) else body, {"Content-Type": content_type})


def cut(after_bytes: int = 10) -> Reply:
    """Promise a whole completion, send its first bytes, and close the connection."""
    whole = says({"answers": ["Sol"]})
    return Reply(200, whole.body, whole.headers, cut_after_bytes=after_bytes)


def streamed(pieces: Callable[[], Iterable[bytes]]) -> Reply:
    """Reply 200 with these pieces, one after the other."""
    return Reply(headers={"Content-Type": "application/json"}, stream=pieces)


def hangs() -> Reply:
    """Take the request and never reply."""
    return Reply(hangs=True)


class _Server(ThreadingHTTPServer):
    """A server that a client may leave in the middle of a reply."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class ScriptedLLM:
    """The server, as a context manager. A request past the end of the script gets HTTP 418."""

    def __init__(self, script: Iterable[Reply | Callable[[Request], Reply]] = ()) -> None:
        self.requests: list[Request] = []
        self._script = iter(script)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        """The port it listens at."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _next(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            entry = next(self._script, None)
        if entry is None:
            return status(418, message="the script has ended")
        return entry(request) if callable(entry) else entry

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        llm = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                at_s = time.monotonic()
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path != "/v1/chat/completions":
                    return self._send(status(404))
                return self._send(llm._next(Request(body, {k.lower(): v for k, v in self.headers.items()}, at_s)))

            def _send(self, reply: Reply) -> None:
                if reply.hangs:
                    llm._ended.wait(MAX_HANG_S)
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.stream is not None:
                    self.send_header("Connection", "close")
                    self.end_headers()
                    with suppress(ConnectionError):
                        for piece in reply.stream():
                            self.wfile.write(piece)
                    return
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body[: reply.cut_after_bytes])
                if reply.cut_after_bytes is not None:
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler
