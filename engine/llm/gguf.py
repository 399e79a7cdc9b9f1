"""Answer prompts with a GGUF file: llama.cpp serves OpenAI's protocol on a free port of this machine, behind a key."""

from __future__ import annotations

import secrets
import threading
from pathlib import Path
from typing import Any

from ..errors import LLMError, require_extra, translate_import_errors
from ..machine import num_cpus
from ..progress import show_waiting
from . import Completion, Prompt, key_of
from .endpoint import ChatEndpoint

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
