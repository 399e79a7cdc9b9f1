"""A language model that runs here in the place of an endpoint: its replies have the probabilities of its own logits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Protocol

from ...models.language.causal_lm import CausalLM, CausalLMError, StoppedError
from ..errors import LLMError
from ..values import TokenUsage
from .cache import key_of
from .prompts import Completion, Prompt

LOCAL = "local"
"""What `llm_base_url` is for a model that runs here."""

MAX_TOKENS = 512
"""Of a reply, where the prompt does not say."""


class Endpoint(Protocol):
    """What a gateway asks: `ChatEndpoint` or `LocalEndpoint`."""

    model: str
    where: str

    async def complete(self, prompt: Prompt, /) -> Completion:
        """Return the model's reply; raises `LLMError`."""
        ...

    async def models(self, timeout_s: float, /) -> list[str] | None:
        """Return the ids of the models that there are, None where nobody knows."""
        ...

    async def close(self) -> None:
        """Give back what was opened."""
        ...

    def key_of(self, prompt: Prompt, /) -> str:
        """Return what stands for a call in a cache."""
        ...


class LocalEndpoint:
    """A causal language model, greedy, one prompt at a time. Its files are read at the first prompt.

    Raises `LLMError` for a model without a name.
    """

    where = "this machine"

    def __init__(self, model: CausalLM, timeout_s: float = 60.0) -> None:
        if not model.name:
            raise LLMError("no language model is named: set LODESTAR_LLM_MODEL to a folder or a name")
        self.model = model.name
        self._model = model
        self._timeout_s = timeout_s
        self._turn = asyncio.Lock()

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the model's reply; raises `LLMError` where it cannot be had, or the prompt is too long for it."""
        stopped = threading.Event()
        async with self._turn:
            ends_s = time.monotonic() + self._timeout_s
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await asyncio.to_thread(
                        self._completed, prompt, lambda: not stopped.is_set() and time.monotonic() < ends_s
                    )
            except TimeoutError:
                raise self._too_late() from None
            finally:  # of a call that is cancelled, too
                stopped.set()

    async def models(self, _timeout_s: float) -> list[str] | None:
        """Return the model alone."""
        return [self.model]

    async def close(self) -> None:
        """Leave the model, which is the engine's, and let the next event loop have a turn of its own."""
        self._turn = asyncio.Lock()

    def key_of(self, prompt: Prompt) -> str:
        """Return what stands for this call in a cache: the model's name and the messages."""
        return key_of(LOCAL, self.model, prompt, {"logprobs": prompt.logprobs, "max_tokens": prompt.max_tokens})

    def _too_late(self) -> LLMError:
        return LLMError(
            f"the language model {self.model!r} on {self.where} did not answer within {self._timeout_s:g} s: take a "
            "smaller one, or raise LODESTAR_LLM_TIMEOUT_S"
        )

    def _completed(self, prompt: Prompt, goes_on: Callable[[], bool]) -> Completion:
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        try:
            (reply,) = self._model.replies([messages], prompt.max_tokens or MAX_TOKENS, goes_on=goes_on)
        except StoppedError:
            raise self._too_late() from None
        except CausalLMError as error:
            raise LLMError(str(error)) from error
        usage = TokenUsage(reply.num_prompt_tokens, len(reply.tokens))
        return Completion(reply.text, usage=usage, logprobs=reply.tokens if prompt.logprobs else (), model=self.model)
