"""Answer prompts with a language model on this machine, with token probabilities from its own logits."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...models.language import causal_lm
from ...models.language.causal_lm import CausalLM, CausalLMError, Messages, StoppedError
from ..errors import LLMError
from ..values import TokenUsage
from .cache import key_of
from .prompts import Completion, Prompt, PromptTooLongError, drop_cut_line

LOCAL = "local"
"""The value of `llm_base_url` for a model on this machine."""

MAX_TOKENS = 512
"""Of a reply, if the prompt gives no limit."""

ANSWER_START = '{"answers": ["'
"""The beginning of a reply, which each choice continues."""
SHARE_OF_BEST = 0.5
"""The least probability of an answer, as a share of the best one's (our own)."""


class Endpoint(Protocol):
    """The interface of an endpoint: `ChatEndpoint` or `LocalEndpoint`."""

    model: str
    where: str

    async def complete(self, prompt: Prompt, /) -> Completion:
        """Return the model's reply. Raises `LLMError`."""
        ...

    async def models(self, timeout_s: float, /) -> list[str] | None:
        """Return the ids of the available models, None if unknown."""
        ...

    async def close(self) -> None:
        """Release what was opened."""
        ...

    def key_of(self, prompt: Prompt, /) -> str:
        """Return the cache key of a call."""
        ...


class LocalEndpoint:
    """A causal language model with greedy decoding, one prompt at a time. It is loaded at the first prompt.

    Raises `LLMError` for a model without a name.
    """

    where = "this machine"

    def __init__(self, model: CausalLM, timeout_s: float = 60.0) -> None:
        if not model.name:
            raise LLMError("no language model is configured: set LODESTAR_LLM_MODEL to a folder or a name")
        self.model = model.name
        self._model = model
        self._timeout_s = timeout_s
        self._turn = asyncio.Lock()

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the model's reply. Raises `LLMError` if it fails, or if the prompt is too long."""
        stopped = threading.Event()
        async with self._turn:
            ends_s = time.monotonic() + self._timeout_s
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await asyncio.to_thread(
                        self._complete, prompt, lambda: not stopped.is_set() and time.monotonic() < ends_s
                    )
            except TimeoutError:
                raise self._too_late() from None
            finally:  # also for a cancelled call
                stopped.set()

    async def models(self, _timeout_s: float) -> list[str] | None:
        """Return only this model; raise `LLMError` if its folder holds none. A name may be one of the hub."""
        folder = Path(self.model)
        if (folder.is_absolute() or folder.is_dir()) and not (folder / "config.json").is_file():
            raise LLMError(f"the language model {self.model!r}: expected a folder with config.json and safetensors")
        return [self.model]

    async def close(self) -> None:
        """Keep the model, which belongs to the engine, and make a new lock for the next event loop."""
        self._turn = asyncio.Lock()

    def key_of(self, prompt: Prompt) -> str:
        """Return the cache key of this call, from the model's name and the messages."""
        options: dict[str, Any] = {"logprobs": prompt.logprobs, "max_tokens": prompt.max_tokens}
        if prompt.choices:
            options |= {"choices": prompt.choices, "unseen": prompt.unseen}
        if prompt.num_choices is not None:
            options["num_choices"] = prompt.num_choices
        return key_of(LOCAL, self.model, prompt, options)

    def _too_late(self) -> LLMError:
        return LLMError(
            f"the language model {self.model!r} on {self.where} did not answer within {self._timeout_s:g} s: use a "
            "smaller one, or raise LODESTAR_LLM_TIMEOUT_S"
        )

    def _complete(self, prompt: Prompt, keep_going: Callable[[], bool]) -> Completion:
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        try:
            if prompt.choices:
                return self._choose(messages, prompt, keep_going)
            (reply,) = self._model.replies([messages], prompt.max_tokens or MAX_TOKENS, goes_on=keep_going)
        except StoppedError:
            raise self._too_late() from None
        except causal_lm.PromptTooLongError as error:
            raise PromptTooLongError(str(error)) from error
        except CausalLMError as error:
            raise LLMError(str(error)) from error
        usage = TokenUsage(reply.num_prompt_tokens, len(reply.tokens))
        text = drop_cut_line(reply.text) if reply.is_cut and prompt.json else reply.text
        return Completion(text, usage=usage, logprobs=reply.tokens if prompt.logprobs else (), model=self.model)

    def _choose(self, messages: Messages, prompt: Prompt, keep_going: Callable[[], bool]) -> Completion:
        """Return the choices that the model finds likely, as the reply it would write.

        A choice is worth the mean log-probability of its tokens, less what it is without the evidence; the softmax over
        the choices is their probability (our own). Those at least `SHARE_OF_BEST` as likely as the best are answers, at
        most `num_choices`.
        """
        worth, num_tokens = self._model.choice_logprobs(messages, ANSWER_START, prompt.choices, goes_on=keep_going)
        if prompt.unseen:
            unseen = [{"role": "user", "content": prompt.unseen}]
            anyway, more = self._model.choice_logprobs(unseen, ANSWER_START, prompt.choices, goes_on=keep_going)
            worth, num_tokens = worth - anyway, num_tokens + more
        probabilities = np.exp(worth - worth.max())
        probabilities /= probabilities.sum()
        best_first = np.argsort(-probabilities, kind="stable")
        answers = [
            {"name": prompt.choices[place], "confidence": round(float(probabilities[place]), 4)}
            for place in best_first.tolist()[: prompt.num_choices]
            if probabilities[place] >= SHARE_OF_BEST * probabilities.max()
        ]
        content = json.dumps({"answers": answers}, ensure_ascii=False)
        return Completion(content, usage=TokenUsage(num_tokens, 0), model=self.model)
