"""One call to a chat model behind any OpenAI-compatible endpoint, with every failure as one line.

The `openai` client does the calling and the retrying: 408, 409, 429, 500 and above, time-outs and broken connections
are tried again, after the wait that the server asks for (Retry-After) or a growing one.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import LLMError
from ..values import TokenUsage

if TYPE_CHECKING:
    import openai

OPENAI_BASE_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT_S = 10.0

_SET_KEY = "set LODESTAR_LLM_API_KEY or OPENAI_API_KEY in the environment"
_NO_KEY = "no-key"
"""Sent to servers that want none: the client insists on a key."""

_REFUSABLE = (400, 422)
"""How endpoints say that they do not know an option."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said: its text, or the words of its refusal in `refusal`, which is None where it did not refuse."""

    content: str
    refusal: str | None = None
    usage: TokenUsage | None = None


class ChatEndpoint:
    """A model at an endpoint. `timeout_s` is the longest wait for the next bytes of a reply, for each attempt."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str,
        timeout_s: float,
        max_retries: int,
        temperature: float | None,
    ) -> None:
        self.base_url = base_url or OPENAI_BASE_URL
        self.model = model
        self.where = _place(self.base_url)
        self._api_key = _checked_key(api_key, self.where)
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        if not model:
            raise LLMError("no language model is named: set LODESTAR_LLM_MODEL, or llm_model in lodestar.toml")
        self._options: dict[str, Any] = {"response_format": {"type": "json_object"}}
        if temperature is not None:
            self._options["temperature"] = temperature

    def complete(self, prompt: str) -> Completion:
        """Return the model's reply to one user message; raises `LLMError`."""
        import openai

        options = self._options
        while True:
            try:
                raw = self._client.chat.completions.with_raw_response.create(**self._request(prompt, options))
            except openai.OpenAIError as error:
                next_step = self._after_failure(error, options)
                if isinstance(next_step, Completion):
                    return next_step
                options = next_step
            else:
                self._options = options
                return _completion(raw.text, self._name)

    async def acomplete(self, prompt: str) -> Completion:
        """Return the same as `complete` without blocking the event loop."""
        import openai

        options = self._options
        # One client per call: a kept one would hold connections of an event loop that may be gone.
        async with openai.AsyncOpenAI(**self._client_arguments()) as client:
            while True:
                try:
                    raw = await client.chat.completions.with_raw_response.create(**self._request(prompt, options))
                except openai.OpenAIError as error:
                    next_step = self._after_failure(error, options)
                    if isinstance(next_step, Completion):
                        return next_step
                    options = next_step
                else:
                    self._options = options
                    return _completion(raw.text, self._name)

    def models(self, timeout_s: float) -> list[str] | None:
        """Return the ids of the models that the endpoint lists, None where it keeps no list; one attempt."""
        import openai

        try:
            raw = self._client.with_options(timeout=timeout_s, max_retries=0).models.with_raw_response.list()
            listed = json.loads(raw.text)["data"]
            return [str(model["id"]) for model in listed]
        except openai.NotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return None
        except openai.OpenAIError as error:
            raise self._as_llm_error(error, timeout_s, num_attempts=1) from None

    @cached_property
    def _client(self) -> openai.OpenAI:
        import openai

        return openai.OpenAI(**self._client_arguments())

    @property
    def _name(self) -> str:
        return f"the language model {self.model!r} at {self.where}"

    def _client_arguments(self) -> dict[str, Any]:
        import openai

        return {
            "base_url": self.base_url,
            "api_key": self._api_key,
            "timeout": openai.Timeout(self._timeout_s, connect=min(self._timeout_s, CONNECT_TIMEOUT_S)),
            "max_retries": self._max_retries,
        }

    def _request(self, prompt: str, options: dict[str, Any]) -> dict[str, Any]:
        return {"model": self.model, "messages": [{"role": "user", "content": prompt}], **options}

    def _after_failure(self, error: openai.OpenAIError, options: dict[str, Any]) -> dict[str, Any] | Completion:
        """Return the options to try again with, or the refusal that the failure is; else raise.

        Endpoints differ in what they know: an option that is refused is left out, first the one the message names.
        """
        import openai

        if isinstance(error, openai.APIStatusError) and error.status_code in _REFUSABLE:
            if error.code == "content_filter":
                return Completion("", refusal="its content filter stopped the prompt")
            if options and error.code != "context_length_exceeded":
                unwanted = next((name for name in options if name in str(error.body)), next(iter(options)))
                return {name: value for name, value in options.items() if name != unwanted}
        raise self._as_llm_error(error, self._timeout_s, num_attempts=1 + self._max_retries) from None

    def _as_llm_error(self, error: openai.OpenAIError, timeout_s: float, num_attempts: int) -> LLMError:
        import openai

        tried = f" in {num_attempts} attempts" if num_attempts > 1 else ""
        if isinstance(error, openai.APITimeoutError):
            what = f"did not answer within {timeout_s:g} s{tried}: see whether it runs, or raise LODESTAR_LLM_TIMEOUT_S"
        elif isinstance(error, openai.APIConnectionError):
            what = f"could not be reached, or cut the connection{tried}: see whether it runs, and LODESTAR_LLM_BASE_URL"
        elif isinstance(error, openai.APIStatusError):
            what = _status_said(error, tried)
        else:
            what = f"could not be called: {type(error).__name__}"
        return LLMError(f"{self._name} {what}")


def _status_said(error: openai.APIStatusError, tried: str) -> str:
    status = f"HTTP {error.status_code}{_code(error)}"
    if error.status_code in (401, 403):
        return f"refused the key ({status}): {_SET_KEY}"
    if error.status_code == 404:
        return (
            f"was not found ({status}): check LODESTAR_LLM_MODEL, and that LODESTAR_LLM_BASE_URL is the address before "
            "/chat/completions (it often ends in /v1)"
        )
    if error.status_code == 429:
        return f"is over its rate limit or quota ({status}){_wait(error)}: try again later"
    if error.status_code >= 500:
        return f"failed{tried} ({status}){_wait(error)}: try again later"
    return f"refused the request ({status})"


def _completion(body: str, name: str) -> Completion:
    """Return what the body of a 200 reply says; raises `LLMError` when it is no chat completion."""
    try:
        reply = json.loads(body)
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = message.get("content"), message.get("refusal")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise LLMError(
            f"{name} sent a body that is no chat completion: see whether LODESTAR_LLM_BASE_URL is OpenAI-compatible"
        ) from None
    usage = _usage(reply.get("usage"))
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if isinstance(refusal, str) and refusal.strip():
        return Completion("", refusal, usage)
    if finish == "content_filter":
        return Completion("", "its content filter stopped the reply", usage)
    if finish == "length":
        raise LLMError(f"{name} was cut off at its output limit: raise the limit on the server, or use another model")
    if not isinstance(content, str) or not content.strip():
        raise LLMError(f"{name} sent an empty reply: try again, or use another model")
    return Completion(content, usage=usage)


def _usage(counted: object) -> TokenUsage | None:
    """Return the tokens that a reply says it took; None where it does not say it as numbers."""
    if not isinstance(counted, dict):
        return None
    prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    return TokenUsage(prompt, completion)


def _place(base_url: str) -> str:
    """Return host and port, the part of an address that is no secret."""
    try:
        parts = urlsplit(base_url)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if not host or scheme not in {"http", "https"}:
        raise LLMError(
            "the language model's address (LODESTAR_LLM_BASE_URL): expected http://… or https://… with a host"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" if port else shown


def _checked_key(api_key: str, where: str) -> str:
    key = api_key.strip()
    if not key:
        if where.partition(":")[0].endswith("openai.com"):
            raise LLMError(
                f"no key for the language model at {where}: {_SET_KEY}, or LODESTAR_LLM_BASE_URL for your own server"
            )
        return _NO_KEY
    if not re.fullmatch(r"[!-~]+", key):
        raise LLMError(f"the key for the language model holds white space or non-ASCII characters: {_SET_KEY} again")
    return key


def _code(error: openai.APIStatusError) -> str:
    """Return an error's machine-readable code, such as insufficient_quota: nothing else of a body is safe to show."""
    return f", {error.code}" if error.code and re.fullmatch(r"[a-z]+(_[a-z]+){1,6}", error.code) else ""


def _wait(error: openai.APIStatusError) -> str:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return ""
    return f" and asks to wait {seconds:,.0f} s" if math.isfinite(seconds) and seconds > 0 else ""
