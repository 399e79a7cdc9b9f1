"""The chat gateway against a scripted endpoint on a real socket."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lodestar.engine.answering.llm import is_parseable_reply
from lodestar.engine.context import Context
from lodestar.engine.llm import (
    ChatUsage,
    Completed,
    Completion,
    Message,
    Prompt,
    PromptTooLongError,
    TokenUsage,
)
from lodestar.engine.llm.endpoint import ChatEndpoint
from lodestar.engine.llm.gateway import MAX_CONCURRENT, ChatGateway, ReplyCache

from tests.fakes.call_context import FakeGraph
from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.scripted_llm import Reply, Request, ScriptedLLM, completion, hangs, raw, refuses, says, status


def gateway(
    llm: ScriptedLLM, *, cache: ReplyCache | None = None, max_calls: int = 0, max_tokens: int = 0, **options: Any
) -> ChatGateway:
    endpoint = ChatEndpoint(**{"base_url": llm.base_url, "model": "scripted", "max_retries": 0, **options})
    return ChatGateway(endpoint, cache=cache, max_calls=max_calls, max_tokens=max_tokens)


def echo(asked: Request) -> Reply:
    return says(asked.prompt)


def contents(completed: Sequence[Completed]) -> list[str]:
    return [one.content if isinstance(one, Completion) else "LLMError" for one in completed]


def test_prompts_are_sent_at_the_same_time_but_not_all() -> None:
    together = threading.Barrier(MAX_CONCURRENT)
    lock, under_way, most = threading.Lock(), 0, 0

    def slow(asked: Request) -> Reply:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        together.wait(20)
        with lock:
            under_way -= 1
        return echo(asked)

    texts = [str(number) for number in range(2 * MAX_CONCURRENT)]
    with ScriptedLLM([slow] * len(texts)) as llm:
        assert contents(gateway(llm).complete([Prompt(text) for text in texts])) == texts
    assert most == MAX_CONCURRENT


@pytest.mark.parametrize(
    "said",
    [
        {"code": "context_length_exceeded"},
        {"message": "the request exceeds the available context size, try increasing it"},
        {"type": "exceed_context_size_error"},
        {"message": "This model's maximum context length is 4096 tokens."},
    ],
)
def test_a_prompt_beyond_the_context_is_told_from_other_refusals(said: dict[str, Any]) -> None:
    with ScriptedLLM([status(400, **said)]) as llm:
        (outcome,) = gateway(llm).complete([Prompt("a", json=True)])
    assert isinstance(outcome, PromptTooLongError)


def test_an_interrupt_ends_the_call() -> None:
    with ScriptedLLM([hangs()]) as llm:
        chat = gateway(llm, timeout_s=50)
        started_s = time.monotonic()
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            chat.complete([Prompt("x")])
        assert time.monotonic() - started_s < 10
        chat.close()


def test_after_an_interrupt_no_more_is_sent() -> None:
    interrupted = threading.Event()

    def slow(asked: Request) -> Reply:
        if asked.prompt == "0":
            os.kill(os.getpid(), signal.SIGINT)
            while not interrupted.wait(2):  # Python misses one that comes just as the main thread begins to wait
                os.kill(os.getpid(), signal.SIGINT)
        assert interrupted.wait(30)
        return echo(asked)

    with ScriptedLLM([slow] * 80) as llm:
        chat = gateway(llm)
        graph: Any = FakeGraph(chat=chat)
        ctx = Context(MemoryGraph([]), graph)
        with pytest.raises(KeyboardInterrupt):
            ctx.complete([Prompt(str(number)) for number in range(80)])
        interrupted.set()
        time.sleep(0.8)
        assert len(llm.requests) <= MAX_CONCURRENT
        chat.close()


def test_what_a_prompt_asks_for_is_sent_and_nothing_else() -> None:
    conversation = (Message("system", "be short"), Message("user", "q"))
    with ScriptedLLM([says("yes")] * 2) as llm:
        gateway(llm).complete([Prompt("plain")])
        gateway(llm, temperature=None).complete([Prompt(conversation, json=True, logprobs=True, max_tokens=5)])
    plain, full = (request.body for request in llm.requests)
    assert plain == {"model": "scripted", "messages": [{"role": "user", "content": "plain"}], "temperature": 0.0}
    assert full == {
        "model": "scripted",
        "messages": [{"role": "system", "content": "be short"}, {"role": "user", "content": "q"}],
        "response_format": {"type": "json_object"},
        "logprobs": True,
        "max_tokens": 5,
    }


def test_calls_beyond_the_budget_are_not_sent_and_say_how_to_raise_it() -> None:
    with ScriptedLLM([echo] * 5) as llm:
        completed = gateway(llm, max_calls=2).complete([Prompt("x")] * 5)
    assert contents(completed) == ["x", "x", "LLMError", "LLMError", "LLMError"]
    assert "budget of 2 calls is spent (2)" in str(completed[2])
    assert "raise llm_max_calls (LODESTAR_LLM_MAX_CALLS)" in str(completed[2])
    assert len(llm.requests) == 2


def test_what_was_said_once_is_not_asked_again(tmp_path: Path) -> None:
    prompts = [Prompt("a"), Prompt("b", json=True)]
    with ScriptedLLM([echo] * 3) as llm:
        for expected in (ChatUsage(calls=2, prompt_tokens=2, completion_tokens=2), ChatUsage(cached=2)):
            chat = gateway(llm, cache=ReplyCache(tmp_path / "replies"), api_key="sk-secret", max_calls=2)
            assert contents(chat.complete(prompts)) == ["a", "b"]
            assert chat.usage == expected
        assert chat.complete([Prompt("a", json=True)]) == [
            Completion("a", usage=TokenUsage(1, 1), model="scripted")
        ]  # another question, as its options say
    assert len(llm.requests) == 3
    for file in tmp_path.iterdir():
        assert b"sk-secret" not in file.read_bytes()


def test_equal_prompts_of_a_batch_are_asked_once(tmp_path: Path) -> None:
    with ScriptedLLM([echo] * 4) as llm:
        chat = gateway(llm, cache=ReplyCache(tmp_path / "replies"))
        assert contents(chat.complete([Prompt("a")] * 4)) == ["a"] * 4
    assert chat.usage == ChatUsage(calls=1, cached=3, prompt_tokens=1, completion_tokens=1)


def test_replies_that_cannot_be_used_are_paid_for() -> None:
    empty, cut = completion({"content": " "}, num_tokens=7), says("x" * 100, finish_reason="length")
    with ScriptedLLM([empty, cut, raw("<html>"), refuses("no" * 50)]) as llm:
        chat = gateway(llm)
        found = [chat.complete([Prompt("x" * 40)])[0] for _ in range(4)]
    assert contents(found) == ["LLMError"] * 3 + [""]
    assert chat.usage == ChatUsage(calls=4, failed=3, prompt_tokens=7 + 3 * 10, completion_tokens=7 + 25 + 0 + 25)


def test_neither_a_failure_nor_a_refusal_is_kept(tmp_path: Path) -> None:
    with ScriptedLLM([status(500), refuses("no"), says(""), says("yes")]) as llm:
        chat = gateway(llm, cache=ReplyCache(tmp_path / "replies"))
        found = [chat.complete([Prompt("a")])[0] for _ in range(5)]
    assert [one.cached if isinstance(one, Completion) else None for one in found] == [None, False, None, False, True]


def test_lines_that_were_cut_off_lack_the_last_one_which_may_be_half_a_name() -> None:
    lines, line, names = "- Lima\n- Qui", "ans: Qui", '{"answers": ["Lima",\n"Qui'
    asked = Prompt("q", json=True, max_tokens=9, is_read=is_parseable_reply)
    with ScriptedLLM([says(each, finish_reason="length") for each in (lines, line, names)]) as llm:
        listed, failed, whole = (gateway(llm).complete([asked])[0] for _ in range(3))
    assert contents([listed, whole]) == ["- Lima", names]
    assert str(failed).endswith("was cut off at 9 tokens: use another model")


@pytest.mark.parametrize("number", [302, 308])
def test_a_redirect_is_named_and_nothing_is_sent_there(number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        port = elsewhere.getsockname()[1]
        location = {"Location": f"http://user:sk-secret@127.0.0.1:{port}/v1/chat/completions?key=sk-secret"}
        with ScriptedLLM([status(number, location)] * 3) as llm:
            (found,) = gateway(llm, api_key="sk-secret", max_retries=2).complete([Prompt("a")])
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
    assert f"redirects (HTTP {number}), which was not followed" in str(found)
    assert "sk-secret" not in str(found)
    assert len(llm.requests) == 1
