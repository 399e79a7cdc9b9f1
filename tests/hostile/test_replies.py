"""A language model's endpoint that sends anything costs no more than its budget, its deadline and one line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar
from tests.fakes.scripted_llm import Reply, ScriptedLLM, completion, says

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

QUESTION = "What is the capital of Peru?"
NAMES = [f"name {number}" for number in range(8_000)]


@pytest.fixture(autouse=True)
def of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LODESTAR_LLM_MODEL", "scripted")


def with_logprobs(content: str, token: str, number: int) -> Reply:
    body = json.loads(says(content).body)
    body["choices"][0]["logprobs"] = {"content": [{"token": token, "logprob": -0.1}] * number}
    return Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def test_a_reply_that_cannot_be_read_is_asked_for_again(
    lodestar: Lodestar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LODESTAR_LLM_CACHE", str(tmp_path / "replies"))
    with ScriptedLLM([says("I would rather not."), says('{"answers": ["Lima"]}')]) as llm:
        monkeypatch.setenv("LODESTAR_LLM_BASE_URL", llm.base_url)
        ran = lodestar("ask", QUESTION, "--llm")
        assert (ran.code, len(ran.err.splitlines())) == (9, 1), ran.err
        for _ in range(2):
            ran = lodestar("ask", QUESTION, "--llm")
            assert (ran.code, "Lima" in ran.out) == (0, True), ran.err
        assert len(llm.requests) == 2


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"answers": NAMES}),
        '{"answers": [' * 7_000,
        "{" * 99_000,
        '{"answers": ["x"]} {"a":[1,' * 3_500,
        '{"answers": "' + "ﷺ" * 90_000 + '"}',
    ],
    ids=["names", "nested", "braces", "broken", "wide"],
)
@pytest.mark.parametrize("answerer", ["llm", "fi"])
def test_no_reply_takes_long_to_read(
    lodestar: Lodestar, monkeypatch: pytest.MonkeyPatch, content: str, answerer: str
) -> None:
    given = ("--llm",) if answerer == "llm" else ("--llm", "--recipe", "similarity + fi", "--set", "fi.fine=false")
    script = [with_logprobs(content, "name 1 ", 300_000) if answerer == "fi" else says(content)] * 2
    with ScriptedLLM(script) as llm:
        monkeypatch.setenv("LODESTAR_LLM_BASE_URL", llm.base_url)
        lodestar("ask", QUESTION)
        started_s = time.monotonic()
        ran = lodestar("ask", QUESTION, *given)
        assert time.monotonic() - started_s < 15
        assert ran.code in (0, 1, 9), ran.err
        assert "Traceback" not in ran.err
        assert len(ran.out) < 200_000


@pytest.mark.parametrize(
    "usage", [{}, {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 1, "completion_tokens": 1}]
)
@pytest.mark.parametrize("content", ['{"answers": ["Lima"]}', " "])
def test_an_endpoint_that_counts_too_little_meets_the_budget(
    lodestar: Lodestar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usage: dict[str, int], content: str
) -> None:
    body = json.loads(completion({"content": content}).body) | {"usage": usage}
    reply = Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})
    path = tmp_path / "questions.txt"
    path.write_text(f"{QUESTION}\n" * 40, encoding="utf-8")
    with ScriptedLLM([reply] * 40) as llm:
        monkeypatch.setenv("LODESTAR_LLM_BASE_URL", llm.base_url)
        monkeypatch.setenv("LODESTAR_LLM_MAX_TOKENS", "300")
        ran = lodestar("ask", "--llm", "--file", str(path))
        assert "budget of 300 tokens is spent" in ran.out + ran.err
        assert len(llm.requests) <= 12
