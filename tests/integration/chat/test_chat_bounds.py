"""What a language model's endpoint cannot do to its caller: send it elsewhere, or keep it waiting."""

from __future__ import annotations

import gzip
import socket
import time
import zlib

import pytest
from lodestar.engine.errors import LLMError
from lodestar.engine.llm.endpoint import ChatEndpoint
from lodestar.engine.llm.gateway import ChatGateway
from lodestar.engine.llm.prompts import Completed, Completion, Prompt

from tests.fakes.scripted_llm import Reply, ScriptedLLM, hangs, says, status

KEY = "sk-secret-0123456789"
GOOD = says("Lima").body


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def complete(llm: ScriptedLLM, *, timeout_s: float = 60.0, max_retries: int = 0) -> Completed:
    endpoint = ChatEndpoint(
        base_url=llm.base_url, model="scripted", api_key=KEY, timeout_s=timeout_s, max_retries=max_retries
    )
    (one,) = ChatGateway(endpoint).complete([Prompt("Capital of Peru?")])
    return one


def line(completed: Completed) -> str:
    assert isinstance(completed, LLMError)
    message = str(completed)
    assert "\n" not in message
    assert len(message) < 300
    assert KEY not in message
    return message


@pytest.mark.parametrize("number", [301, 302, 303, 307, 308])
def test_a_redirect_is_named_and_nothing_is_sent_there(number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        port = elsewhere.getsockname()[1]
        location = {"Location": f"http://user:{KEY}@127.0.0.1:{port}/v1/chat/completions?key={KEY}"}
        with ScriptedLLM([status(number, location)] * 3) as llm:
            said = line(complete(llm, max_retries=2))
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert f"redirects (HTTP {number}), which was not followed" in said
    assert len(llm.requests) == 1


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(gzip.compress(GOOD), "gzip"), (zlib.compress(GOOD), "deflate"), (GOOD, "identity")],
)
def test_a_packed_body_is_read(body: bytes, encoding: str) -> None:
    with ScriptedLLM([Reply(200, body, {"Content-Encoding": encoding})]) as llm:
        completed = complete(llm)
    assert isinstance(completed, Completion)
    assert completed.content == "Lima"


def test_an_endpoint_that_never_answers_is_left() -> None:
    with ScriptedLLM([hangs()] * 2) as llm:
        started_s = time.monotonic()
        said = line(complete(llm, timeout_s=1, max_retries=1))
        assert 1.9 < time.monotonic() - started_s < 15
    assert "did not answer in time: check that it runs, or raise LODESTAR_LLM_TIMEOUT_S" in said
    assert len(llm.requests) == 2
