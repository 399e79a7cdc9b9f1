"""Answer prompts with a language model on this machine: safetensors by transformers, or GGUF by llama.cpp."""

from __future__ import annotations

import secrets
import threading
import time
from pathlib import Path
from typing import Any

from ...models.language import causal_lm
from ...models.language.causal_lm import CausalLM, CausalLMError, StoppedError
from ..errors import LLMError, require_extra, translate_import_errors
from ..machine import num_cpus
from ..progress import show_waiting
from ..values import TokenUsage
from .endpoint import ChatEndpoint
from .prompts import Completion, Prompt, PromptTooLongError, drop_cut_line, key_of

LOCAL = "local"
"""The value of `llm_base_url` for a model on this machine."""

MAX_TOKENS = 512
"""Of a reply, if the prompt gives no limit."""


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
        self._turn = threading.Lock()

    def complete(self, prompt: Prompt) -> Completion:
        """Return the model's reply. Raises `LLMError` if it fails, or if the prompt is too long."""
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        with self._turn:
            ends_s = time.monotonic() + self._timeout_s
            try:
                (reply,) = self._model.replies(
                    [messages], prompt.max_tokens or MAX_TOKENS, goes_on=lambda: time.monotonic() < ends_s
                )
            except StoppedError:
                raise LLMError(
                    f"the language model {self.model!r} on {self.where} did not answer within {self._timeout_s:g} s: "
                    "use a smaller one, or raise LODESTAR_LLM_TIMEOUT_S"
                ) from None
            except causal_lm.PromptTooLongError as error:
                raise PromptTooLongError(str(error)) from error
            except CausalLMError as error:
                raise LLMError(str(error)) from error
        usage = TokenUsage(reply.num_prompt_tokens, len(reply.tokens))
        text = drop_cut_line(reply.text) if reply.is_cut and prompt.json else reply.text
        return Completion(text, usage=usage, logprobs=reply.tokens if prompt.logprobs else (), model=self.model)

    def models(self, _timeout_s: float) -> list[str] | None:
        """Return only this model; raise `LLMError` if its folder holds none. A name may be one of the hub."""
        folder = Path(self.model)
        if (folder.is_absolute() or folder.is_dir()) and not (folder / "config.json").is_file():
            raise LLMError(f"the language model {self.model!r}: expected a folder with config.json and safetensors")
        return [self.model]

    def close(self) -> None:
        """Keep the model, which belongs to the engine."""

    def key_of(self, prompt: Prompt) -> str:
        """Return the cache key of this call, from the model's name and the messages."""
        options: dict[str, Any] = {"logprobs": prompt.logprobs, "max_tokens": prompt.max_tokens}
        return key_of(LOCAL, self.model, prompt, options)


# A GGUF file: llama.cpp by xllamacpp serves OpenAI's protocol on a free port of this machine, behind a key of its own

GGUF = "gguf"
"""The value of `llm_base_url` for a GGUF file."""

CONTEXT = 8_192
"""Tokens of a prompt with its reply; 12,000 characters of evidence take some 3,000."""
QUIET = -1


class GgufEndpoint:
    """A GGUF file, one prompt at a time; it is loaded at the first prompt.

    model: a file, or the name of one in `folder`, with or without ``.gguf``. Raises `LLMError` where there is none.
    """

    where = "this machine"

    def __init__(self, model: str, folder: Path, timeout_s: float = 60.0) -> None:
        self.path = find_gguf(model, folder)
        self.model = self.path.stem
        self._timeout_s = timeout_s
        self._turn = threading.Lock()
        self._server: Any = None
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
        endpoint, self._endpoint, self._server = self._endpoint, None, None
        if endpoint is not None:
            endpoint.close()

    def key_of(self, prompt: Prompt) -> str:
        """Return the cache key of this call, from the file's name, size and time, the messages and the options."""
        options = {"logprobs": prompt.logprobs, "max_tokens": prompt.max_tokens, "schema": prompt.schema}
        stat = self.path.stat()
        file = f"{self.path.name} {stat.st_size} {stat.st_mtime_ns}"
        return key_of(GGUF, file, prompt, options | {"json": prompt.json})

    def _open(self) -> ChatEndpoint:
        if self._endpoint is None:
            key = secrets.token_hex(16)
            with show_waiting(f"loading {self.path.name}"):
                self._server = start_llama_server(self.path, key)
            self._endpoint = ChatEndpoint(
                base_url=f"{self._server.listening_address}/v1",
                model=self.model,
                api_key=key,
                timeout_s=self._timeout_s,
                max_retries=0,
            )
            self._endpoint.where = self.where
        return self._endpoint


def find_gguf(model: str, folder: Path) -> Path:
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


def start_llama_server(path: Path, key: str) -> Any:
    """Return llama.cpp's server on a free port of this machine; raise `LLMError` if it cannot load the model."""
    with translate_import_errors("a GGUF model"):
        import xllamacpp

    server: Any = xllamacpp  # compiled, without types
    parameters = server.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {path.stem}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = num_cpus()
    parameters.verbosity = QUIET
    try:
        return server.Server(parameters)
    except RuntimeError:
        raise LLMError(
            f"the language model {path} cannot be loaded: the file is damaged, of a kind that llama.cpp does not know, "
            "or too large for the memory"
        ) from None
