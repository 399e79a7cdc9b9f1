"""Call an OpenAI-compatible endpoint by the `openai` client, turn its failures into one-line errors, and read its
replies. A GGUF file is an endpoint, too: llama.cpp serves it on a free port of this machine, behind a key."""

from __future__ import annotations

import codecs
import json
import math
import re
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai

from ..errors import LLMError, require_extra
from ..machine import num_free_cpus
from ..progress import show_waiting
from ..settings import is_loopback
from . import (
    Completion,
    Prompt,
    PromptTooLongError,
    TokenUsage,
    UnusableReplyError,
    drop_truncated_line,
    make_cache_key,
)

MAX_TOKENS = 10**9
"""More tokens than any reply has."""
MAX_REPLY_CHARS = 100_000
"""Of the text of a reply, so that parsing it takes little time."""

SET_KEY = "set LODESTAR_LLM_API_KEY or OPENAI_API_KEY in the environment"
NO_KEY = "no-key"
"""Sent to servers that need no key, because the client requires one."""


def _host_and_port(base_url: str) -> str:
    with suppress(ValueError):
        parts = urlsplit(base_url)
        if parts.hostname and parts.scheme in {"http", "https"} and base_url.isprintable():
            shown = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            return f"{shown}:{parts.port}" if parts.port else shown
    raise LLMError("the language model's address (LODESTAR_LLM_BASE_URL): expected http://… or https://… with a host")


def _check_key(api_key: str, where: str) -> str:
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


def _describe_failure(error: openai.OpenAIError) -> str:
    """Return what failed and what to do about it, without any header or body."""
    if isinstance(error, openai.APIStatusError):
        return _describe_status(error)
    if isinstance(error, openai.APITimeoutError):
        return "did not answer in time: check that it runs, or raise LODESTAR_LLM_TIMEOUT_S"
    if isinstance(error, openai.APIConnectionError):
        return "could not be reached, or cut the connection: check that it runs, and LODESTAR_LLM_BASE_URL"
    return f"could not be called: {type(error).__name__}"


def _describe_status(error: openai.APIStatusError) -> str:
    # of a body nothing else is safe to show than a code such as insufficient_quota
    code = f", {error.code}" if error.code and re.fullmatch(r"[a-z]+(_[a-z]+){1,6}", error.code) else ""
    status = f"HTTP {error.status_code}{code}"
    seconds = error.response.headers.get("retry-after", "")
    wait = f" and asks to wait {int(seconds):,} s" if re.fullmatch(r"[1-9]\d{0,8}", seconds) else ""
    match error.status_code:
        case number if 300 <= number < 400:
            said = f"redirects ({status}), which was not followed: set LODESTAR_LLM_BASE_URL to the final address"
        case 401 | 403:
            said = f"refused the key ({status}): {SET_KEY}"
        case 404:
            said = (
                f"was not found ({status}): check LODESTAR_LLM_MODEL, and that LODESTAR_LLM_BASE_URL is the address "
                "before /chat/completions (it often ends in /v1)"
            )
        case 429:
            said = f"is over its rate limit or quota ({status}){wait}: try again later"
        case number if number >= 500:
            said = f"failed ({status}){wait}: try again later"
        case _:
            said = f"refused the request ({status})"
    return said


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

_SENT_HEADERS = {
    *("accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host"),
    *("transfer-encoding", "user-agent"),
}
"""The only headers of a request to another address than OpenAI's; the client adds headers from its environment."""


class ChatEndpoint:
    """A model at an endpoint. Options that the endpoint does not know are left out once a call went without them.

    timeout_s: of each attempt. The client makes up to `max_retries` more after 408, 409, 429, 500 and above, time-outs
    and broken connections, and waits as long as the server asks for. temperature, seed: None sends none.
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
        self.where = _host_and_port(self.base_url)
        self._api_key = _check_key(api_key, self.where)
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._temperature = temperature
        self._seed = seed
        self._sends_openai_env = sends_openai_env
        if not model or not model.isprintable():
            raise LLMError("no language model is configured: set LODESTAR_LLM_MODEL, or llm_model in lodestar.toml")
        self._unknown: frozenset[str] = frozenset()  # options that this endpoint refused
        self._client: openai.OpenAI | None = None

    def complete(self, prompt: Prompt) -> Completion:
        """Return the model's reply. Raises `LLMError`."""
        wanted = self._options(prompt)
        left_out = self._unknown
        while True:
            options = _leave_out(wanted, left_out)
            try:
                body = self._send(prompt, options)
            except openai.OpenAIError as error:
                if getattr(error, "code", None) == "content_filter":
                    return Completion("", refusal="its content filter stopped the prompt", model=self.model)
                left_out |= {self._find_unwanted(error, options)}
            else:
                self._unknown |= left_out
                return parse_completion(body, prompt, self.model, self._name)

    def models(self, timeout_s: float) -> list[str] | None:
        """Return the ids of the models that the endpoint lists, None if it has no list; one attempt."""
        client = self._open_client().with_options(max_retries=0, timeout=timeout_s)
        try:
            return [str(model["id"]) for model in json.loads(client.models.with_raw_response.list().content)["data"]]
        except openai.NotFoundError:
            return None
        except openai.OpenAIError as error:
            raise LLMError(f"{self._name} {_describe_failure(error)}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def key_of(self, prompt: Prompt) -> str:
        """Return the cache key of this call, from the endpoint's address, the model, the messages and the options."""
        parts = urlsplit(self.base_url)
        address = f"{parts.scheme}://{self.where}{parts.path.rstrip('/')}"
        return make_cache_key(address, self.model, prompt, self._options(prompt))

    @property
    def _name(self) -> str:
        return f"the language model {self.model!r} at {self.where}"

    def _options(self, prompt: Prompt) -> dict[str, Any]:
        reply_format: dict[str, Any] | None = JSON_OBJECT if prompt.json else None
        if prompt.schema is not None:
            reply_format = {"type": SCHEMA, SCHEMA: {"name": "reply", "strict": True, "schema": prompt.schema}}
        wanted = {
            "response_format": reply_format,
            "temperature": self._temperature,
            "seed": self._seed,
            "logprobs": prompt.logprobs or None,
            "max_tokens": prompt.max_tokens,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    def _send(self, prompt: Prompt, options: dict[str, Any]) -> bytes:
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        request: dict[str, Any] = {"model": self.model, "messages": messages, **options}
        return self._open_client().chat.completions.with_raw_response.create(**request).content

    def _open_client(self) -> openai.OpenAI:
        if self._client is None:
            timeout = openai.Timeout(self._timeout_s, connect=min(CONNECT_TIMEOUT_S, self._timeout_s))
            self._client = openai.OpenAI(
                base_url=self.base_url,
                api_key=self._api_key,
                timeout=timeout,
                max_retries=self._max_retries,
                http_client=openai.DefaultHttpxClient(
                    timeout=timeout,
                    follow_redirects=False,
                    trust_env=not is_loopback(urlsplit(self.base_url).hostname or ""),  # no proxy for this machine
                    event_hooks={
                        "request": [] if self._sends_openai_env else [self._drop_environment],
                        "response": [self._bound_body],
                    },
                ),
            )
        return self._client

    def _bound_body(self, response: Any) -> None:
        """Let the body of a reply end in time, however slowly it comes: the client limits the wait for each piece."""
        read, end_s = response.iter_raw, time.monotonic() + self._timeout_s

        def read_in_time(chunk_size: int | None = None) -> Iterator[bytes]:
            for piece in read(chunk_size):
                if time.monotonic() > end_s:
                    raise openai.APITimeoutError(request=response.request)
                yield piece

        response.iter_raw = read_in_time

    def _drop_environment(self, request: Any) -> None:
        for name in list(request.headers):
            if name.lower() not in _SENT_HEADERS and not name.lower().startswith("x-stainless-"):  # the client's own
                del request.headers[name]
        request.headers["authorization"] = f"Bearer {self._api_key}"

    def _find_unwanted(self, error: openai.OpenAIError, options: dict[str, Any]) -> str:
        """Return the option that the endpoint refuses: one that its message names, else any; raise for other errors."""
        if isinstance(error, openai.APIStatusError):
            named = [name for name in options if re.search(rf"\b{name}\b", str(error.body))]
            is_refused = error.status_code in _REFUSABLE
            if is_refused and _TOO_LONG.search(f"{error.code} {error.body}".lower()):
                raise PromptTooLongError(
                    f"the prompt exceeds the context of {self._name}: lower answerer.tokens, or use a longer context"
                ) from None
            if (is_refused and options) or (error.status_code == _NAMES_AN_OPTION and named):
                unwanted = (named or list(options))[0]
                return SCHEMA if unwanted == "response_format" and _is_schema(options) else unwanted
        raise LLMError(f"{self._name} {_describe_failure(error)}") from None


def _is_schema(options: dict[str, Any]) -> bool:
    return bool(options.get("response_format", {}).get("type") == SCHEMA)


def _leave_out(wanted: dict[str, Any], left_out: frozenset[str]) -> dict[str, Any]:
    options = {name: value for name, value in wanted.items() if name not in left_out}
    return options | {"response_format": JSON_OBJECT} if SCHEMA in left_out and _is_schema(options) else options


def parse_completion(body: bytes, prompt: Prompt, model: str, name: str) -> Completion:
    """Return the completion in a response body. Raises `UnusableReplyError`, whose message starts with the model's
    `name`.

    A reply that was cut off is an error unless the prompt itself set the limit and the caller can read it so; one that
    should be JSON, and is lines instead, lacks the last of them.
    """
    try:
        reply = json.loads(body.decode("utf-8", "replace"))
        if isinstance(reply, dict) and reply.get("error") and not reply.get("choices"):
            raise UnusableReplyError(f"{name} replied with an error: see its log, or try again", Completion(""))
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise UnusableReplyError(
            f"{name} sent a body that is no chat completion: check that LODESTAR_LLM_BASE_URL is OpenAI-compatible",
            Completion(""),
        ) from None
    if finish == "length" and prompt.json:
        content = drop_truncated_line(content)
    usage = _usage(reply.get("usage"))
    completion = Completion(content, usage=usage, model=model)
    if refusal.strip():
        return Completion("", refusal, usage, model=model)
    if finish == "content_filter":
        return Completion("", "its content filter stopped the reply", usage, model=model)
    if finish == "length" and (prompt.max_tokens is None or not prompt.is_read(content)):
        limit = f"{prompt.max_tokens} tokens: " if prompt.max_tokens else "the server's output limit: raise it, or "
        raise UnusableReplyError(f"{name} was cut off at {limit}use another model", completion)
    if not content.strip():
        raise UnusableReplyError(f"{name} sent an empty reply: try again, or use another model", completion)
    if len(content) > MAX_REPLY_CHARS:
        raise UnusableReplyError(
            f"{name} sent a reply of {len(content):,} characters: expected at most {MAX_REPLY_CHARS:,}", completion
        )
    return replace(completion, logprobs=_logprobs(choice.get("logprobs")))


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content.encode("utf-8", "replace").decode("utf-8") if isinstance(content, str) else ""


def _logprobs(listed: object) -> tuple[tuple[str, float], ...]:
    """Return the tokens of a reply with their log-probabilities; empty if some are missing or there are too many.

    Endpoints write a token that ends within a character in their own ways, but say its bytes: the character then stands
    at its last token.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        tokens = listed["content"] if isinstance(listed, dict) else ()
        found = tuple((_token_text(token, decoder), float(token["logprob"])) for token in tokens)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return ()
    is_usable = sum(len(token) for token, _ in found) <= 2 * MAX_REPLY_CHARS  # special tokens are not in the text
    return found if is_usable and all(math.isfinite(logprob) for _, logprob in found) else ()


def _token_text(token: dict[str, Any], decoder: codecs.IncrementalDecoder) -> str:
    listed = token.get("bytes")
    return decoder.decode(bytes(listed)) if isinstance(listed, list) else _text(token["token"])


def _usage(counted: object) -> TokenUsage | None:
    if not isinstance(counted, dict):
        return None
    tokens = [counted.get(f"{what}_tokens") for what in ("prompt", "completion")]
    sound = [n for n in tokens if type(n) is int and 0 <= n <= MAX_TOKENS]
    return TokenUsage(*sound) if len(sound) == len(tokens) else None


GGUF = "gguf"
"""The value of `llm_base_url` for a GGUF file."""

CONTEXT = 8_192
"""Tokens of a prompt with its reply; 12,000 characters of evidence take some 3,000."""


class GgufEndpoint:
    """A GGUF file, one prompt at a time; it is loaded at the first prompt.

    model: a file, or the name of one in `folder`, with or without ``.gguf``. Raises `LLMError` where there is none.
    """

    where = "this machine"

    def __init__(self, model: str, folder: Path, timeout_s: float = 60.0) -> None:
        self.path = _find_gguf(model, folder)
        self.model = self.path.stem
        self._timeout_s = timeout_s
        self._turn = threading.Lock()
        self._server: subprocess.Popen[str] | None = None
        self._endpoint: ChatEndpoint | None = None

    def complete(self, prompt: Prompt) -> Completion:
        """Return the model's reply. Raises `LLMError`, `MissingExtraError` without the extra."""
        with self._turn:  # a prompt's deadline begins when the one before it is done
            return self._open().complete(prompt)

    def models(self, _timeout_s: float) -> list[str] | None:
        """Return only this model; raise `MissingExtraError` without the extra."""
        require_extra("llm", "a GGUF model")
        return [self.model]

    def close(self) -> None:
        """End the server and close its connections; the next prompt loads the model again."""
        endpoint, self._endpoint, server, self._server = self._endpoint, None, self._server, None
        if endpoint is not None:
            endpoint.close()
        if server is not None:
            server.kill()
            server.communicate()

    def key_of(self, prompt: Prompt) -> str:
        """Return the cache key of this call, from the file's name, size and time, the messages and the options."""
        options = {"logprobs": prompt.logprobs, "max_tokens": prompt.max_tokens, "schema": prompt.schema}
        stat = self.path.stat()
        file = f"{self.path.name} {stat.st_size} {stat.st_mtime_ns}"
        return make_cache_key(GGUF, file, prompt, options | {"json": prompt.json})

    def _open(self) -> ChatEndpoint:
        if self._endpoint is None:
            key = secrets.token_hex(16)
            with show_waiting(f"loading {self.path.name}"):
                self._server, address = _start_llama_server(self.path, key)
            self._endpoint = ChatEndpoint(
                base_url=f"{address}/v1",
                model=self.model,
                api_key=key,
                timeout_s=self._timeout_s,
                max_retries=0,
            )
            self._endpoint.where = self.where
        return self._endpoint


def _find_gguf(model: str, folder: Path) -> Path:
    """Return the file of a model, by path or by its name in the folder. Raises `LLMError` where there is none."""
    if not model:
        raise LLMError("no language model is configured: set LODESTAR_LLM_MODEL to a GGUF file")
    try:
        for path in (Path(model), folder / model, folder / f"{model}.gguf"):
            if path.is_file():
                return path
    except OSError as error:
        raise LLMError(f"the language model {model[:200]!r} cannot be read: {error.strerror}") from error
    raise LLMError(f"the language model {model!r}: expected a GGUF file, or the name of one in {folder}")


def _start_llama_server(path: Path, key: str) -> tuple[subprocess.Popen[str], str]:
    """Return a process with llama.cpp's server, and its address on a free port of this machine.

    Nothing interrupts llama.cpp while it reads a file or a prompt: in a process of its own it holds up neither Ctrl-C
    nor other threads. Raises `LLMError` if it cannot load the model.
    """
    require_extra("llm", "a GGUF model")
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _SERVER, str(path), str(CONTEXT), str(num_free_cpus())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # it has ended
        process.stdin.write(f"{key}\n")
        process.stdin.flush()
    if address := process.stdout.readline().strip():
        return process, address
    raise LLMError(
        f"the language model {path} cannot be loaded: the file is damaged, of a kind that llama.cpp does not know, or "
        "too large for the memory"
    )


_SERVER = """
import os, sys, xllamacpp
path, context, threads = sys.argv[1:]
parameters = xllamacpp.CommonParams()
parameters.model.path = path
parameters.model_alias = {os.path.splitext(os.path.basename(path))[0]}
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.api_keys = [sys.stdin.readline().strip()]
parameters.n_ctx, parameters.n_parallel = int(context), 1
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = int(threads)
parameters.verbosity = -1
try:
    server = xllamacpp.Server(parameters)
except RuntimeError:
    os._exit(1)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""
"""The process of a server; the end of its standard input, which comes with the end of its parent, ends it."""
