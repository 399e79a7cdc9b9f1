"""Answer prompts with a GGUF file: llama.cpp serves OpenAI's protocol on a free port of this machine, behind a key."""

from __future__ import annotations

import secrets
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from ..errors import LLMError, require_extra
from ..machine import num_free_cpus
from ..progress import show_waiting
from . import Completion, Prompt, make_cache_key
from .endpoint import ChatEndpoint

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
