"""A language model that runs here in the place of an endpoint: its replies have the probabilities of its own logits."""

from __future__ import annotations

import asyncio
from typing import Protocol

from ...models.causal_lm import CausalLM, CausalLMError
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

    def __init__(self, model: CausalLM) -> None:
        if not model.name:
            raise LLMError("no language model is named: set LODESTAR_LLM_MODEL to a folder or a name")
        self.model = model.name
        self._model = model

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the model's reply; raises `LLMError` where it cannot be had, or the prompt is too long for it."""
        return await asyncio.to_thread(self._completed, prompt)

    async def models(self, _timeout_s: float) -> list[str] | None:
        """Return the model alone."""
        return [self.model]

    async def close(self) -> None:
        """Do nothing: the model is the engine's."""

    def key_of(self, prompt: Prompt) -> str:
        """Return what stands for this call in a cache: the model's name and the messages."""
        return key_of(LOCAL, self.model, prompt, {"logprobs": prompt.logprobs, "max_tokens": prompt.max_tokens})

    def _completed(self, prompt: Prompt) -> Completion:
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        try:
            (reply,) = self._model.replies([messages], prompt.max_tokens or MAX_TOKENS)
        except CausalLMError as error:
            raise LLMError(str(error)) from error
        usage = TokenUsage(reply.num_prompt_tokens, len(reply.tokens))
        return Completion(reply.text, usage=usage, logprobs=reply.tokens if prompt.logprobs else (), model=self.model)
