"""The LLM answerer against a scripted endpoint on a real socket."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from lodestar.engine.answering.llm import LanguageModelAnswerer
from lodestar.engine.context import Context
from lodestar.engine.data_model import Chain, Entity, Scored
from lodestar.engine.errors import LLMError
from lodestar.engine.evidence import Answer, Evidence
from lodestar.engine.llm.endpoint import ChatEndpoint
from lodestar.engine.llm.gateway import ChatGateway

from tests.fakes.call_context import FakeGraph
from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.scripted_llm import (
    Reply,
    ScriptedLLM,
    cut,
    raw,
    refuses,
    says,
    status,
    streamed,
)
from tests.made.evidence import evidence_of, leads

KEY = "sk-secret-0123456789"


def ask(chat: ChatGateway, found: Evidence[Chain]) -> Answer:
    graph: Any = FakeGraph({LanguageModelAnswerer(): None}, chat=chat)
    (answer,) = LanguageModelAnswerer()(Context(MemoryGraph([]), graph), [found])
    return answer


@pytest.fixture
def found() -> Evidence[Chain]:
    peru, sol, lima = Entity("m.peru", "Peru"), Entity("m.sol", "Peruvian_sol"), Entity("m.lima", "Lima")
    capital = leads("location.country.capital", lima, topic=peru)
    currency = leads("location.country.currency_used", sol, topic=peru)
    return evidence_of(Scored(capital, 0.5), Scored(currency, 0.5), text="Which currency has Peru?")


def chat(llm: ScriptedLLM, **options: Any) -> ChatGateway:
    endpoint = {"base_url": llm.base_url, "model": "scripted", "api_key": KEY, "max_retries": 0, **options}
    return ChatGateway(ChatEndpoint(**endpoint))


def failure(script: list[Reply], found: Evidence[Chain], **options: Any) -> tuple[str, ScriptedLLM]:
    """Return the one line of the `LLMError` that this script leads to; no secret and no body is in it or its trace."""
    with ScriptedLLM(script) as llm:
        answer = ask(chat(llm, **options), found)
    assert answer.evidence is found
    assert (answer.entities, answer.text) == ((), f"failed: {answer.failure}")
    assert isinstance(answer.failure, LLMError)
    message = str(answer.failure)
    assert "\n" not in message
    assert len(message) < 300
    assert f"127.0.0.1:{llm.port}" in message
    trace = "".join(traceback.format_exception(answer.failure))
    for secret in (KEY, "Bearer", "scripted failure"):
        assert secret not in trace
    assert "During handling" not in trace
    return message, llm


def test_a_good_reply_is_held_against_the_evidence(found: Evidence[Chain]) -> None:
    reply = says(
        {"answers": [{"name": "peruvian sol", "confidence": 0.9}, "Euro"], "text": "Peru uses the Peruvian sol."}
    )
    with ScriptedLLM([reply]) as llm:
        answer = ask(chat(llm), found)
    sol, euro = answer.entities
    assert (sol.name, sol.id, sol.origin, sol.evidence, sol.confidence) == ("Peruvian sol", "m.sol", "graph", (1,), 0.9)
    assert (euro.name, euro.id, euro.origin, euro.evidence) == ("Euro", None, "model", ())
    assert answer.text == "Peru uses the Peruvian sol."
    assert answer.answerer == "llm:scripted"
    assert answer.evidence is found

    (request,) = llm.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["model"] == "scripted"
    assert request.body["response_format"]["type"] == "json_schema"
    assert request.body["temperature"] == 0
    assert request.body["logprobs"] is True
    assert "Which currency has Peru?" in request.prompt
    assert "[2] Peru —[country currency used]→ Peruvian sol" in request.prompt
    assert "m.sol" not in request.prompt


def test_retry_after_is_waited_for(found: Evidence[Chain]) -> None:
    with ScriptedLLM([status(429, {"Retry-After": "1"}), says({"answers": ["Lima"]})]) as llm:
        answer = ask(chat(llm, max_retries=1), found)
    assert answer.found
    first, second = llm.requests
    assert second.at_s - first.at_s >= 1.0  # the client's own first wait is at most 0.5 s


@pytest.mark.timeout(60)
def test_a_retry_after_of_an_hour_is_said(found: Evidence[Chain]) -> None:
    limited = status(429, {"Retry-After": "3600"})
    message, _ = failure([limited, limited], found, max_retries=1)
    assert "rate limit or quota (HTTP 429) and asks to wait 3,600 s: try again later" in message


@pytest.mark.parametrize("after_bytes", [0, 10])
def test_a_cut_connection_is_tried_again(found: Evidence[Chain], after_bytes: int) -> None:
    with ScriptedLLM([cut(after_bytes), says({"answers": ["Lima"]})]) as llm:
        assert ask(chat(llm, max_retries=1), found).found
    assert len(llm.requests) == 2


def test_a_reply_that_trickles_is_not_waited_for(found: Evidence[Chain]) -> None:
    def trickle() -> Iterator[bytes]:
        for _ in range(100):
            time.sleep(0.1)
            yield b" "

    began_s = time.monotonic()
    message, _ = failure([streamed(trickle)], found, timeout_s=0.5)
    assert "did not answer in time" in message
    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize(
    "body",
    [
        raw("<html>welcome</html>", "text/html"),
        raw('{"choices": [{"message": null}]}'),
        raw("[" * 100_000),
    ],
)
def test_a_malformed_body_is_one_line(found: Evidence[Chain], body: Reply) -> None:
    message, _ = failure([body], found)
    assert "sent a body that is no chat completion" in message


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (refuses("I'm sorry,\nI can't help with that."), "I'm sorry, I can't help with that."),
        (says("", finish_reason="content_filter"), "its content filter stopped the reply"),
        (status(400, code="content_filter"), "its content filter stopped the prompt"),
    ],
)
def test_a_refusal_is_an_answer_without_entities_that_says_so(found: Evidence[Chain], reply: Reply, words: str) -> None:
    with ScriptedLLM([reply]) as llm:
        answer = ask(chat(llm), found)
    assert not answer.found
    assert answer.text == f"The model refused to answer: {words}"
    assert len(llm.requests) == 1


def test_an_option_that_was_refused_is_left_out_from_then_on(found: Evidence[Chain]) -> None:
    named = status(400, message="Unsupported value: 'temperature' does not support 0 with this model.")
    unnamed, lima = status(422, message="no such thing"), says({"answers": ["Lima"]})
    with ScriptedLLM([named, unnamed, unnamed, lima, lima]) as llm:
        using = chat(llm)
        for _ in range(2):
            assert ask(using, found).found
    assert ["temperature" in request.body for request in llm.requests] == [True, *[False] * 4]
    formats = [request.body.get("response_format", {}).get("type") for request in llm.requests]
    assert formats == ["json_schema", "json_schema", "json_object", None, None]


@pytest.mark.parametrize("number", [401, 403])
def test_a_refused_key_says_what_to_set(found: Evidence[Chain], number: int) -> None:
    message, _ = failure([status(number, message=f"scripted failure: bad key {KEY}", code=KEY)], found)
    assert f"refused the key (HTTP {number}): set LODESTAR_LLM_API_KEY or OPENAI_API_KEY" in message
