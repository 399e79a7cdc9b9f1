"""A language model that runs here, in the place of an endpoint."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lodestar.engine.errors import LLMError
from lodestar.engine.llm.gateway import ChatGateway
from lodestar.engine.llm.prompts import Completion, Message, Prompt
from lodestar.engine.settings import Settings
from lodestar.models.language.causal_lm import CausalLM
from safetensors.torch import load_file, save_file

from tests.made.tiny_causal_lm import write_tiny_causal_lm


def of(folder: Path, **options: int) -> ChatGateway:
    return ChatGateway.of(Settings(llm_base_url="local", llm_model=str(folder), **options))


def test_replies_come_with_the_probabilities_of_its_own_logits(tmp_path: Path) -> None:
    chat = of(write_tiny_causal_lm(tmp_path, is_chat=True))
    asked = Prompt((Message("system", "be brief"), Message("user", "lima?")), logprobs=True, max_tokens=5)
    first, plain, again = chat.complete([asked, Prompt("quito?", max_tokens=3), asked])
    assert isinstance(first, Completion)
    assert isinstance(plain, Completion)
    assert first == again
    assert "".join(text for text, _ in first.logprobs) == first.content
    assert len(first.logprobs) == 5
    assert all(-math.inf < logprob <= 0 for _, logprob in first.logprobs)
    assert plain.logprobs == ()
    assert first.usage is not None
    assert (first.usage.completion, chat.usage.calls) == (5, 3)
    chat.close()


@pytest.mark.parametrize("stop_ids", [0, [5, 0]])
def test_a_reply_ends_where_the_model_ends_it(tmp_path: Path, stop_ids: int | list[int]) -> None:
    """Of a model whose logits are all 0 the first token is the likeliest, which is <end>."""
    folder = write_tiny_causal_lm(tmp_path)
    weights = load_file(folder / "model.safetensors")
    save_file({name: each * (name != "lm_head.weight") for name, each in weights.items()}, folder / "model.safetensors")
    settings = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
    (folder / "generation_config.json").write_text(json.dumps({**settings, "eos_token_id": stop_ids}), encoding="utf-8")
    chat = of(folder)
    (said,) = chat.complete([Prompt("lima?", max_tokens=5, logprobs=True)])
    assert isinstance(said, Completion)
    assert (said.content, said.logprobs) == ("", ())
    chat.close()


def test_what_it_cannot_read_is_a_failure_of_that_prompt_alone(tmp_path: Path) -> None:
    chat = of(write_tiny_causal_lm(tmp_path, max_length=64))
    long, short = chat.complete([Prompt("lima " * 100, max_tokens=2), Prompt("lima", max_tokens=2)])
    assert isinstance(long, LLMError)
    assert "exceed the 64" in str(long)
    assert isinstance(short, Completion)
    chat.close()


def test_a_model_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    chat = of(tmp_path)
    (failed,) = chat.complete([Prompt("lima")])
    assert isinstance(failed, LLMError)
    assert "cannot be loaded" in str(failed)
    assert "\n" not in str(failed)
    chat.close()
    with pytest.raises(LLMError, match="no language model is configured"):
        ChatGateway.of(Settings(llm_base_url="local"))


class Slow:
    """Layers that take a while each, whatever the model."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.layers = 0
        whole = CausalLM._stoppable

        @contextmanager
        def slow(model: CausalLM, goes_on: Callable[[], bool]) -> Iterator[None]:
            def counted() -> bool:
                self.layers += 1
                time.sleep(seconds)
                return goes_on()

            with whole(model, counted):
                yield

        monkeypatch.setattr(CausalLM, "_stoppable", slow)


def test_the_deadline_ends_a_reply_of_a_model_that_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = ChatGateway.of(
        Settings(llm_base_url="local", llm_model=str(write_tiny_causal_lm(tmp_path)), llm_timeout_s=1.0)
    )
    chat.complete([Prompt("lima", max_tokens=1)])  # the model is loaded
    slow = Slow(monkeypatch, 0.1)
    started_s = time.monotonic()
    failures = chat.complete([Prompt("lima", max_tokens=200), Prompt("peru", max_tokens=200)])
    assert time.monotonic() - started_s < 6
    assert all("did not answer within 1 s" in str(each) for each in failures)
    at_the_end = slow.layers
    time.sleep(0.5)
    assert slow.layers <= at_the_end + 1
    chat.close()
