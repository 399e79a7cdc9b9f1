"""One call to a chat model behind any OpenAI-compatible endpoint, with every failure as one line.

The `openai` client does the calling and the retrying: 408, 409, 429, 500 and above, time-outs and broken connections
are tried again, after the wait that the server asks for (Retry-After) or a growing one, until the call's deadline.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import LLMError
from ..settings import is_loopback
from .address import checked_key, place
from .body import completion_in
from .cache import key_of
from .prompts import Completion, Prompt
from .streaming import STREAM_OPTIONS, listening, whole_body

if TYPE_CHECKING:
    import openai

OPENAI_BASE_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT_S = 10.0
MAX_RETRIES = 2

_REFUSABLE = (400, 422)
"""How endpoints say that they do not know an option."""


class ChatEndpoint:
    """A model at an endpoint, for the one event loop that calls it.

    timeout_s: the deadline of a whole call, all attempts and the waits between them. temperature: None sends none.
    sends_openai_env: whether the client adds what the environment says for OpenAI, as an organisation.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str = "",
        timeout_s: float = 60.0,
        max_retries: int = MAX_RETRIES,
        temperature: float | None = 0.0,
        sends_openai_env: bool = False,
    ) -> None:
        self.base_url = base_url or OPENAI_BASE_URL
        self.model = model
        self.where = place(self.base_url)
        self._api_key = checked_key(api_key, self.where)
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._temperature = temperature
        self._sends_openai_env = sends_openai_env
        if not model:
            raise LLMError("no language model is named: set LODESTAR_LLM_MODEL, or llm_model in lodestar.toml")
        self._unknown: frozenset[str] = frozenset()  # options that this endpoint has refused
        self._client: openai.AsyncOpenAI | None = None

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the model's reply; raises `LLMError`."""
        from .bounded import deadline

        try:
            async with deadline(self._timeout_s):
                return await self._complete(prompt)
        except TimeoutError:
            raise self._too_late(self._timeout_s) from None

    async def models(self, timeout_s: float) -> list[str] | None:
        """Return the ids of the models that the endpoint lists, None where it keeps no list; one attempt."""
        import openai

        from .bounded import deadline
        from .failures import failure_said

        client = self._opened().with_options(max_retries=0)
        try:
            async with deadline(timeout_s):
                raw = await client.models.with_raw_response.list()
            return [str(model["id"]) for model in json.loads(raw.content)["data"]]
        except openai.NotFoundError:
            return None
        except TimeoutError:
            raise self._too_late(timeout_s) from None
        except openai.OpenAIError as error:
            raise LLMError(f"{self._name} {failure_said(error)}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    async def close(self) -> None:
        """Give the connections back; the next call opens others."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def key_of(self, prompt: Prompt) -> str:
        """Return what stands for this call in a cache: the endpoint's address, the model, the messages, the options."""
        parts = urlsplit(self.base_url)
        return key_of(
            f"{parts.scheme}://{self.where}{parts.path.rstrip('/')}", self.model, prompt, self._options(prompt)
        )

    def _options(self, prompt: Prompt) -> dict[str, Any]:
        """Return the options of a call, by their names in the protocol, whether or not the endpoint knows them."""
        wanted = {
            "response_format": {"type": "json_object"} if prompt.json else None,
            "temperature": self._temperature,
            "logprobs": prompt.logprobs or None,
            "max_tokens": prompt.max_tokens,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    async def _complete(self, prompt: Prompt) -> Completion:
        import openai

        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        wanted = self._options(prompt) | ({} if prompt.on_text is None else STREAM_OPTIONS)
        options = {name: value for name, value in wanted.items() if name not in self._unknown}
        while True:
            request: dict[str, Any] = {"model": self.model, "messages": messages, **options}
            try:
                with listening(prompt.on_text):
                    raw = await self._opened().chat.completions.with_raw_response.create(**request)
            except openai.OpenAIError as error:
                next_step = self._after_failure(error, options)
                if isinstance(next_step, Completion):
                    return next_step
                options = next_step
            else:
                self._unknown |= wanted.keys() - options.keys()
                return completion_in(whole_body(raw.content), prompt, self.model, self._name)

    def _opened(self) -> openai.AsyncOpenAI:
        """The client, opened at the first call: importing it is slow."""
        if self._client is None:
            import openai

            from .bounded import BoundedClient

            own = urlsplit(self.base_url).hostname or ""
            timeout = openai.Timeout(None, connect=CONNECT_TIMEOUT_S)  # all else is bounded by the call's deadline
            self._client = openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=self._api_key,
                timeout=timeout,
                max_retries=self._max_retries,
                http_client=BoundedClient(
                    timeout=timeout,
                    bearer=None if self._sends_openai_env else self._api_key,
                    trust_env=not is_loopback(own),  # what is sent to this machine goes through no proxy
                ),
            )
        return self._client

    @property
    def _name(self) -> str:
        return f"the language model {self.model!r} at {self.where}"

    def _after_failure(self, error: openai.OpenAIError, options: dict[str, Any]) -> dict[str, Any] | Completion:
        """Return the options to try again with, or the refusal that the failure is; else raise.

        Endpoints differ in what they know: an option that is refused is left out, first the one the message names.
        """
        import openai

        from .failures import failure_said

        if isinstance(error, openai.APIStatusError) and error.status_code in _REFUSABLE:
            if error.code == "content_filter":
                return Completion("", refusal="its content filter stopped the prompt", model=self.model)
            if options and error.code != "context_length_exceeded":
                unwanted = next((name for name in options if name in str(error.body)), next(iter(options)))
                return {name: value for name, value in options.items() if name != unwanted}
        raise LLMError(f"{self._name} {failure_said(error)}") from None

    def _too_late(self, timeout_s: float) -> LLMError:
        return LLMError(
            f"{self._name} did not answer within {timeout_s:g} s: see whether it runs, or raise LODESTAR_LLM_TIMEOUT_S"
        )
