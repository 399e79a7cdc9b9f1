"""A GGUF model inside Lodestar, with real weights: SmolLM2, 135 M parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lodestar.engine.answering.llm import LanguageModelAnswerer, parse_reply
from lodestar.engine.errors import LLMError
from lodestar.engine.llm import Completion, Prompt, PromptTooLongError
from lodestar.engine.llm.gateway import ChatGateway
from lodestar.engine.settings import Settings

from tests.made.evidence import evidence_of
from tests.made.smollm import one_thread, smollm


@pytest.fixture(scope="module", autouse=True)
def single_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture(scope="module")
def chat(single_thread: None) -> Iterator[ChatGateway]:
    gateway = ChatGateway.of(Settings(llm_base_url="gguf", llm_model=str(smollm()), llm_timeout_s=240))
    yield gateway
    gateway.close()


def expect_completion(outcome: object) -> Completion:
    assert isinstance(outcome, Completion), outcome
    return outcome


def test_a_multiple_choice_question_gets_exactly_one_of_its_options(chat: ChatGateway) -> None:
    options = ("Sol (a coin)", "Real")
    evidence = evidence_of(text="Which currency is used in Peru?")
    prompt = LanguageModelAnswerer().make_prompt(
        replace(evidence, question=replace(evidence.question, options=options))
    )
    (claim,) = parse_reply(expect_completion(chat.complete([prompt])[0]).content).claims
    assert claim.name in options


def test_a_prompt_that_its_context_cannot_hold_is_one_line(chat: ChatGateway) -> None:
    long, short = chat.complete([Prompt("lima " * 20_000, max_tokens=2), Prompt("lima", max_tokens=2)])
    assert isinstance(long, PromptTooLongError)
    assert str(long) == (
        f"the prompt exceeds the context of the language model '{smollm().stem}' at this machine: lower answerer.tokens, or "
        "use a longer context"
    )
    expect_completion(short)


def test_what_is_no_model_is_one_line(tmp_path: Path) -> None:
    def failure(model: str) -> str:
        with pytest.raises(LLMError) as caught:
            ChatGateway.of(Settings(llm_base_url="gguf", llm_model=model, home=str(tmp_path)))
        return str(caught.value)

    assert "set LODESTAR_LLM_MODEL to a GGUF file" in failure("")
    assert "or the name of one in" in failure("none")
    assert "cannot be read: File name too long" in failure("x" * 5_000)
    broken = tmp_path / "models" / "broken.gguf"
    broken.parent.mkdir()
    broken.write_bytes(smollm().read_bytes()[:100_000])
    chat = ChatGateway.of(Settings(llm_base_url="gguf", llm_model="broken", home=str(tmp_path)))
    (outcome,) = chat.complete([Prompt("lima")])
    assert isinstance(outcome, LLMError)
    assert "cannot be loaded: the file is damaged" in str(outcome)
    chat.close()
