"""GraphRAG-FI through the command line: over a real graph, with a language model that follows a script."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from tests.e2e.conftest import Lodestar, Ran
from tests.fakes.scripted_llm import Reply, Request, ScriptedLLM, raw, says

pytestmark = pytest.mark.usefixtures("engine")

LINE = "similarity + path-pooling + fi"


def written(*tokens: tuple[str, float]) -> Reply:
    """A completion with the log-probability of each of its tokens."""
    content = "".join(text for text, _ in tokens)
    listed = [{"token": text, "logprob": math.log(p)} for text, p in tokens]
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return raw(json.dumps({"choices": [{**choice, "logprobs": {"content": listed}}]}))


def reply(request: Request) -> Reply:
    """What the model says to the filter, to the question with the evidence, and to the question alone."""
    messages = request.body["messages"]
    if messages[0]["role"] == "system":
        return says("1, 2")
    if "<evidence>" in messages[0]["content"]:
        return written(('{"answers": ["', 1.0), ("Lima", 0.8), ('"]}', 1.0))
    return written(('{"answers": ["', 1.0), ("lima", 0.999), ('", "', 1.0), ("Callao", 0.4), ('"]}', 1.0))


@pytest.fixture
def asked(lodestar: Lodestar, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a verb about the capital of Peru, with this language model."""

    def run(llm: ScriptedLLM, *arguments: str) -> Ran:
        monkeypatch.setenv("LODESTAR_LLM_BASE_URL", llm.base_url)
        monkeypatch.setenv("LODESTAR_LLM_MODEL", "scripted")
        return lodestar(*arguments, "--json", "--set", "top_k=25", "What is the capital of Peru?")

    return run


def test_evidence_is_grouped_and_the_model_s_own_answer_joined(asked: Callable[..., Ran]) -> None:
    with ScriptedLLM([reply] * 3) as llm:
        ran = asked(llm, "ask", "--llm", "--recipe", LINE)
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    (answer,) = found["answers"]
    assert (answer["name"], answer["origin"], answer["confidence"]) == ("Lima", "both", 0.999)
    assert answer["id"]
    assert answer["evidence"]
    groups = [item["group"] for item in found["items"]]
    assert groups[:2] == [0, 0]
    assert set(groups[2:]) == {1}
    assert len(llm.requests) == 3


def test_without_a_model_it_filters_by_what_is_there_and_says_so(lodestar: Lodestar) -> None:
    ran = lodestar("ask", "--paths-only", "--recipe", LINE, "--json", "What is the capital of Peru?")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["items"]
    said = "fi: no language model is configured: filtered by similarity alone, and nothing is added"
    assert said in found["left_out"]
