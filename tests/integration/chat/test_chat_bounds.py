"""What a language model's endpoint cannot do to its caller: send it elsewhere, fill its memory, or keep it waiting."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lodestar.engine.errors import LLMError
from lodestar.engine.llm.endpoint import ChatEndpoint
from lodestar.engine.llm.gateway import ChatGateway
from lodestar.engine.llm.prompts import Completed, Completion, Prompt
from lodestar.engine.llm.replies import MAX_BODY_BYTES

from tests.fakes.scripted_llm import Reply, ScriptedLLM, says, status, streamed

KEY = "sk-secret-0123456789"
GOOD = says("Lima").body


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(params=["blocking", "asyncio"])
def complete(request: pytest.FixtureRequest) -> Callable[..., Completed]:
    """Ask one question, by either face of the gateway."""

    def completed(llm: ScriptedLLM, **options: Any) -> Completed:
        endpoint = {"base_url": llm.base_url, "model": "scripted", "api_key": KEY, "max_retries": 0, **options}
        chat = ChatGateway(ChatEndpoint(**endpoint))
        try:
            if request.param == "blocking":
                (one,) = chat.complete([Prompt("Capital of Peru?")])
            else:
                (one,) = asyncio.run(chat.acomplete([Prompt("Capital of Peru?")]))
        finally:
            chat.close()
        return one

    return completed


def line(completed: Completed) -> str:
    assert isinstance(completed, LLMError)
    message = str(completed)
    assert "\n" not in message
    assert len(message) < 300
    assert KEY not in message
    return message


@pytest.mark.parametrize("number", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_nothing_is_sent_there(complete: Callable[..., Completed], number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        port = elsewhere.getsockname()[1]
        location = {"Location": f"http://user:{KEY}@127.0.0.1:{port}/v1/chat/completions?key={KEY}"}
        with ScriptedLLM([status(number, location)] * 3) as llm:
            said = line(complete(llm, max_retries=2))
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert f"redirects to 127.0.0.1:{port} (HTTP {number}), which was not followed" in said
    assert len(llm.requests) == 1


def test_an_endless_body_is_left(complete: Callable[..., Completed]) -> None:
    def endless() -> Iterator[bytes]:
        return itertools.repeat(b" " * 65_536)

    with ScriptedLLM([streamed(endless)]) as llm:
        said = line(complete(llm))
    assert "sent a body of more than 8 MB" in said
    assert llm.num_streamed < 4 * MAX_BODY_BYTES  # what the sockets hold is sent and not read


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_small_body_that_unpacks_to_a_large_one_is_left(complete: Callable[..., Completed], encoding: str) -> None:
    packing = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    zeros = bytes(1_000_000)
    bomb = b"".join([*(packing.compress(zeros) for _ in range(100)), packing.flush()])
    assert len(bomb) < 1_000_000
    with ScriptedLLM([Reply(200, bomb, {"Content-Encoding": encoding})]) as llm:
        complete_once = complete(llm, model="warm-up")  # what is imported and opened once is not the body's
        assert "of more than 8 MB" in line(complete_once)
    with ScriptedLLM([Reply(200, bomb, {"Content-Encoding": encoding})]) as llm:
        tracemalloc.start()
        try:
            complete(llm)
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak_bytes < 4 * MAX_BODY_BYTES


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(GOOD), "gzip"),
        (gzip.compress(GOOD), "X-GZIP"),
        (zlib.compress(GOOD), "deflate"),
        (GOOD, "identity"),
    ],
)
def test_a_packed_body_is_read(complete: Callable[..., Completed], body: bytes, encoding: str) -> None:
    with ScriptedLLM([Reply(200, body, {"Content-Encoding": encoding})]) as llm:
        completed = complete(llm)
    assert isinstance(completed, Completion)
    assert completed.content == "Lima"
    assert llm.requests[0].headers["accept-encoding"] == "gzip"


def test_one_byte_after_the_other_ends_at_the_deadline(complete: Callable[..., Completed]) -> None:
    def dripping() -> Iterator[bytes]:
        for number in range(len(GOOD)):
            time.sleep(0.1)
            yield GOOD[number : number + 1]

    with ScriptedLLM([streamed(dripping)] * 3) as llm:
        started_s = time.monotonic()
        said = line(complete(llm, timeout_s=1, max_retries=2))
        assert 0.9 < time.monotonic() - started_s < 10
    assert "did not answer within 1 s" in said
    assert len(llm.requests) == 1


def test_all_attempts_and_the_waits_between_them_share_one_deadline(complete: Callable[..., Completed]) -> None:
    with ScriptedLLM([status(500)] * 50) as llm:
        started_s = time.monotonic()
        said = line(complete(llm, timeout_s=2, max_retries=40))
        assert 1.9 < time.monotonic() - started_s < 15
    assert "did not answer within 2 s" in said
    assert 2 <= len(llm.requests) < 10
