"""Call an OpenAI-compatible endpoint and turn its failures into one-line errors.

The `openai` client sends and retries: it retries 408, 409, 429, 500 and above, time-outs and broken connections until
the call's deadline, after the wait that the server requests (Retry-After) or a growing one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import openai

from ..errors import LLMError
from ..settings import is_loopback
from .prompts import Completion, Prompt, PromptTooLongError, key_of
from .replies import (
    STREAM_OPTIONS,
    BadResponseBodyError,
    BoundedClient,
    limit_time,
    listen,
    merge_events,
    parse_completion,
)

SET_KEY = "set LODESTAR_LLM_API_KEY or OPENAI_API_KEY in the environment"
NO_KEY = "no-key"
"""Sent to servers that need no key, because the client requires one."""


def host_and_port(base_url: str) -> str:
    """Return host and port of an address, which are no secret."""
    try:
        parts = urlsplit(base_url)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if not host or scheme not in {"http", "https"} or not base_url.isprintable():
        raise LLMError(
            "the language model's address (LODESTAR_LLM_BASE_URL): expected http://… or https://… with a host"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port}" if port else shown


def check_key(api_key: str, where: str) -> str:
    """Return the key to send. Raises `LLMError` if a key is needed but missing, or cannot be sent."""
    key = api_key.strip()
    if not key:
        if where.partition(":")[0].endswith("openai.com"):
            raise LLMError(
                f"no key for the language model at {where}: {SET_KEY}, or LODESTAR_LLM_BASE_URL for your own server"
            )
        return NO_KEY
    if not re.fullmatch(r"[!-~]+", key):
        raise LLMError(f"the key for the language model holds white space or non-ASCII characters: {SET_KEY} again")
    return key


def describe_failure(error: openai.OpenAIError) -> str:
    """Return what failed and what to do about it, without any header or body."""
    tried = _count_tries(error) if isinstance(error, openai.APIError) else ""
    unreadable = next((e for e in (error, error.__cause__) if isinstance(e, BadResponseBodyError)), None)
    if unreadable:  # the cause of a connection error in versions 2 of the client
        return f"sent {unreadable}: check that LODESTAR_LLM_BASE_URL is OpenAI-compatible"
    if isinstance(error, openai.APIConnectionError):
        return f"could not be reached, or cut the connection{tried}: check that it runs, and LODESTAR_LLM_BASE_URL"
    if isinstance(error, openai.APIStatusError):
        return _describe_status(error, tried)
    return f"could not be called: {type(error).__name__}"


def _count_tries(error: openai.APIError) -> str:
    """Return how often the client has sent the request, by its own header, if more than once."""
    num_retries = error.request.headers.get("x-stainless-retry-count", "0")
    return f" in {int(num_retries) + 1} attempts" if num_retries.isdigit() and num_retries != "0" else ""


def _describe_status(error: openai.APIStatusError, tried: str) -> str:
    status = f"HTTP {error.status_code}{_code(error)}"
    if 300 <= error.status_code < 400:
        return (
            f"redirects to {_redirect_target(error)} ({status}), which was not followed: "
            "set LODESTAR_LLM_BASE_URL to the final address"
        )
    if error.status_code in (401, 403):
        return f"refused the key ({status}): {SET_KEY}"
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


def _redirect_target(error: openai.APIStatusError) -> str:
    """Return host and port of a redirect's target, if printable."""
    location = error.response.headers.get("location", "")
    if not re.match(r"(https?:)?//", location, re.IGNORECASE):
        return "another path"
    try:
        where = host_and_port(location if not location.startswith("//") else f"https:{location}")
    except LLMError:
        return "another host"
    return where if re.fullmatch(r"[A-Za-z0-9.:\[\]-]{1,100}", where) else "another host"


def _code(error: openai.APIStatusError) -> str:
    """Return an error's machine-readable code, such as insufficient_quota; nothing else of a body is safe to show."""
    return f", {error.code}" if error.code and re.fullmatch(r"[a-z]+(_[a-z]+){1,6}", error.code) else ""


def _wait(error: openai.APIStatusError) -> str:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return ""
    return f" and asks to wait {seconds:,.0f} s" if math.isfinite(seconds) and seconds > 0 else ""


OPENAI_BASE_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT_S = 10.0
MAX_RETRIES = 2

_REFUSABLE = (400, 422)
"""Status codes of endpoints that do not know an option."""
_NAMES_AN_OPTION = 500
"""The same where its message names an option: llama-cpp-python's server fails so at a schema."""
_TOO_LONG = re.compile(r"context[_ ](?:length|size|window)|exceed_context")
"""What endpoints say of a prompt beyond their context: OpenAI's code, and words of vLLM, llama.cpp and LM Studio."""

SCHEMA = "json_schema"
"""The type of a response format; an endpoint may know JSON objects alone."""


JSON_OBJECT = {"type": "json_object"}


def _format_of(prompt: Prompt) -> dict[str, Any] | None:
    """Return the response format of a prompt."""
    if prompt.schema is not None:
        return {"type": SCHEMA, SCHEMA: {"name": "reply", "strict": True, "schema": prompt.schema}}
    return JSON_OBJECT if prompt.json else None


def _replace_schema(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with any JSON object in the place of a schema."""
    return {**options, "response_format": JSON_OBJECT} if _is_schema(options) else options


def _is_schema(options: Mapping[str, Any]) -> bool:
    return bool(options.get("response_format", {}).get("type") == SCHEMA)


def _find_left_out(options: Mapping[str, Any], fewer: Mapping[str, Any]) -> frozenset[str]:
    """Return what fewer options lack; `SCHEMA` where they have any JSON object in its place."""
    return frozenset(options.keys() - fewer.keys()) | (
        {SCHEMA} if _is_schema(options) and not _is_schema(fewer) else set()
    )


class ChatEndpoint:
    """A model at an endpoint, for a single event loop.

    Options that the endpoint does not know are left out: one that its message names from then on, one that it refuses
    without a name once two calls in a row went without it, since a prompt may be refused for other reasons.

    timeout_s: the deadline of a whole call, with all attempts and waits. temperature, seed: None sends none.
    sends_openai_env: whether the client adds the OpenAI settings of the environment, such as an organisation.
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
        seed: int | None = None,
        sends_openai_env: bool = False,
    ) -> None:
        self.base_url = base_url or OPENAI_BASE_URL
        self.model = model
        self.where = host_and_port(self.base_url)
        self._api_key = check_key(api_key, self.where)
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._temperature = temperature
        self._seed = seed
        self._sends_openai_env = sends_openai_env
        if not model:
            raise LLMError("no language model is configured: set LODESTAR_LLM_MODEL, or llm_model in lodestar.toml")
        if not model.isprintable():
            raise LLMError(f"the language model's name (LODESTAR_LLM_MODEL): expected text, found {model[:80]!r}")
        self._unknown: frozenset[str] = frozenset()  # options that this endpoint refused
        self._suspected: frozenset[str] = frozenset()  # those that it did without in the last call, and never named
        self._client: openai.AsyncOpenAI | None = None

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the model's reply. Raises `LLMError`."""
        try:
            async with limit_time(self._timeout_s):
                return await self._complete(prompt)
        except TimeoutError:
            raise self._timeout_error(self._timeout_s) from None

    async def models(self, timeout_s: float) -> list[str] | None:
        """Return the ids of the models that the endpoint lists, None if it has no list; one attempt."""
        client = self._open_client().with_options(max_retries=0)
        try:
            async with limit_time(timeout_s):
                raw = await client.models.with_raw_response.list()
            return [str(model["id"]) for model in json.loads(raw.content)["data"]]
        except openai.NotFoundError:
            return None
        except TimeoutError:
            raise self._timeout_error(timeout_s) from None
        except openai.OpenAIError as error:
            raise LLMError(f"{self._name} {describe_failure(error)}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def key_of(self, prompt: Prompt) -> str:
        """Return the cache key of this call, from the endpoint's address, the model, the messages and the options."""
        parts = urlsplit(self.base_url)
        return key_of(
            f"{parts.scheme}://{self.where}{parts.path.rstrip('/')}", self.model, prompt, self._options(prompt)
        )

    def _options(self, prompt: Prompt) -> dict[str, Any]:
        """Return the options of a call by their protocol names, whether or not the endpoint knows them."""
        wanted = {
            "response_format": _format_of(prompt),
            "temperature": self._temperature,
            "seed": self._seed,
            "logprobs": prompt.logprobs or None,
            "max_tokens": prompt.max_tokens,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def _leave_out_unknown(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Return the options that this endpoint has not refused."""
        options = {name: value for name, value in wanted.items() if name not in self._unknown}
        return _replace_schema(options) if SCHEMA in self._unknown else options

    async def _complete(self, prompt: Prompt) -> Completion:
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        wanted = self._options(prompt) | ({} if prompt.on_text is None else STREAM_OPTIONS)
        options = self._leave_out_unknown(wanted)
        sent, named = options, frozenset[str]()
        while True:
            request: dict[str, Any] = {"model": self.model, "messages": messages, **options}
            try:
                with listen(prompt.on_text):
                    raw = await self._open_client().chat.completions.with_raw_response.create(**request)
            except openai.OpenAIError as error:
                next_step = self._after_failure(error, options)
                if isinstance(next_step, Completion):
                    return next_step
                fewer, is_named = next_step
                named |= _find_left_out(options, fewer) if is_named else set()
                options = fewer
            else:
                left_out = _find_left_out(sent, options)
                self._unknown |= named | (left_out & self._suspected)
                self._suspected = left_out - named
                return parse_completion(merge_events(raw.content), prompt, self.model, self._name)

    def _open_client(self) -> openai.AsyncOpenAI:
        """Return the client; the first call creates it, because importing it is slow."""
        if self._client is None:
            own = urlsplit(self.base_url).hostname or ""
            timeout = openai.Timeout(None, connect=CONNECT_TIMEOUT_S)  # the call's deadline bounds the rest
            self._client = openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=self._api_key,
                timeout=timeout,
                max_retries=self._max_retries,
                http_client=BoundedClient(
                    timeout=timeout,
                    bearer=None if self._sends_openai_env else self._api_key,
                    trust_env=not is_loopback(own),  # no proxy for this machine
                ),
            )
        return self._client

    @property
    def _name(self) -> str:
        return f"the language model {self.model!r} at {self.where}"

    def _after_failure(
        self, error: openai.OpenAIError, options: dict[str, Any]
    ) -> tuple[dict[str, Any], bool] | Completion:
        """Return the options to retry with and whether the message names what they lack, or a refusal; else raise.

        Endpoints know different options: a refused option is dropped, first the one that the message names.
        """
        if isinstance(error, openai.APIStatusError):
            named = [name for name in options if re.search(rf"\b{name}\b", str(error.body))]
            is_refused = error.status_code in _REFUSABLE
            if is_refused and error.code == "content_filter":
                return Completion("", refusal="its content filter stopped the prompt", model=self.model)
            if is_refused and _TOO_LONG.search(f"{error.code} {error.body}".lower()):
                raise PromptTooLongError(
                    f"the prompt exceeds the context of {self._name}: lower answerer.tokens, or use a longer context"
                ) from None
            if (is_refused and options) or (error.status_code == _NAMES_AN_OPTION and named):
                unwanted = (named or list(options))[0]
                if unwanted == "response_format" and _is_schema(options):
                    return _replace_schema(options), bool(named)
                return {name: value for name, value in options.items() if name != unwanted}, bool(named)
        raise LLMError(f"{self._name} {describe_failure(error)}") from None

    def _timeout_error(self, timeout_s: float) -> LLMError:
        return LLMError(
            f"{self._name} did not answer within {timeout_s:g} s: check that it runs, or raise LODESTAR_LLM_TIMEOUT_S"
        )
