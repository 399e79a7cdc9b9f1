"""A language model's endpoint that sends anything costs no more than its budget, its deadline and one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Lodestar
from tests.fakes.scripted_llm import Reply, ScriptedLLM, completion

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.database]

QUESTION = "What is the capital of Peru?"


@pytest.fixture(autouse=True)
def of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LODESTAR_LLM_MODEL", "scripted")


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
