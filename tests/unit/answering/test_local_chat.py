"""A language model that runs here, in the place of an endpoint."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from lodestar.engine.answering.llm import parse_reply
from lodestar.engine.errors import LLMError
from lodestar.engine.llm.gateway import ChatGateway
from lodestar.engine.llm.prompts import Completion, Message, Prompt
from lodestar.engine.settings import Settings
from lodestar.models.language.causal_lm import CausalLM
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from tests.made.tiny_causal_lm import KINDS, write_tiny_causal_lm


def of(folder: Path, **options: int) -> ChatGateway:
    return ChatGateway.of(Settings(llm_base_url="local", llm_model=str(folder), **options))  # type: ignore[arg-type]


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


def logprob_alone(model: CausalLM, messages: list[dict[str, str]], start: str, choice: str) -> float:
    """The reference: the whole text of one choice read at once, without a cache."""
    before = model._encode([model.render(messages) + start], room=1)["input_ids"]
    own = torch.tensor([model._tokenizer(f'{choice}"', add_special_tokens=False)["input_ids"]])
    with torch.inference_mode():
        logits = model._model(torch.cat([before, own], dim=1)).logits[0].log_softmax(dim=-1)
    places = range(before.shape[1] - 1, before.shape[1] - 1 + own.shape[1])
    return float(sum(logits[place, id_] for place, id_ in zip(places, own[0], strict=True)) / own.shape[1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_of_a_choice_is_that_of_its_text_alone(tmp_path: Path, kind: str) -> None:
    model = CausalLM(str(write_tiny_causal_lm(tmp_path, kind=kind, is_chat=True)), batch_size=2)
    messages = [{"role": "user", "content": "which is the capital of peru?"}]
    choices = ("lima", "quito is the capital of ecuador", "l", "ペルー", "Lima, Ohio")
    found, num_tokens = model.choice_logprobs(messages, "answer: ", choices)
    expected = [logprob_alone(model, messages, "answer: ", each) for each in choices]
    assert found == pytest.approx(expected, abs=1e-4)
    before = AutoTokenizer.from_pretrained(model.name)(model.render(messages) + "answer: ", add_special_tokens=False)
    assert num_tokens == len(before["input_ids"]) + sum(
        len(model._tokenizer(f'{each}"')["input_ids"]) for each in choices
    )
    alone, _ = model.choice_logprobs(messages, "answer: ", ("quito is the capital of ecuador",))
    assert alone[0] == pytest.approx(expected[1], abs=1e-4)


def test_a_model_that_runs_here_answers_with_a_choice_whatever_it_would_write(tmp_path: Path) -> None:
    chat = of(write_tiny_causal_lm(tmp_path, is_chat=True))
    choices = ("Lima", "Quito", 'a "b"')
    prompt = Prompt("capital of peru?", json=True, choices=choices, unseen="capital?")
    free, chosen = chat.complete([Prompt("capital of peru?", json=True, max_tokens=4), prompt])
    assert isinstance(free, Completion)
    assert isinstance(chosen, Completion)
    with pytest.raises(LLMError):
        parse_reply(free.content)
    claims = parse_reply(chosen.content).claims
    assert claims
    assert {claim.name for claim in claims} <= set(choices)
    assert all(claim.confidence is not None and 0 < claim.confidence <= 1 for claim in claims)
    assert [claim.confidence for claim in claims] == sorted((claim.confidence or 0 for claim in claims), reverse=True)
    chat.close()
