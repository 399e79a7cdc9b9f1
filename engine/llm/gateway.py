"""Send prompts to the configured language model within a budget and a deadline."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ...models.language.causal_lm import CausalLM
from ..errors import InputError, LLMError, LodestarError, StorageError
from ..settings import Settings, sends_openai_env
from ..values import TokenUsage
from .endpoint import ChatEndpoint
from .local import GGUF, LOCAL, GgufEndpoint, LocalEndpoint
from .prompts import ChatUsage, Completed, Completion, Prompt, usage_of

T = TypeVar("T")
Endpoint = ChatEndpoint | GgufEndpoint | LocalEndpoint


class BackgroundLoop:
    """An event loop in a thread that starts at the first `submit` and ends with `close` or garbage collection."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: weakref.finalize[[asyncio.AbstractEventLoop], BackgroundLoop] | None = None

    @property
    def started(self) -> bool:
        """Whether the loop is running."""
        return self._loop is not None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the coroutine and return its future; cancelling the future cancels the coroutine."""
        with self._starting:
            if self._loop is None:
                runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
                self._loop = runner.get_loop()
                self._end = weakref.finalize(self, _stop, self._loop)
                threading.Thread(target=_run, args=(runner,), name="lodestar-chat", daemon=True).start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the loop and cancel running work. The next `submit` starts a new loop."""
        with self._starting:
            if self._end is not None:
                self._end()
            self._loop = self._end = None


def _run(runner: asyncio.Runner) -> None:
    with runner:
        runner.get_loop().run_forever()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon_threadsafe(loop.stop)


MAX_CONCURRENT = 8
"""Prompts at a time, if nothing else is said."""
UNLIMITED = 10_000


class ChatGateway:
    """Send prompts to one endpoint, from any thread and event loop. It starts no thread before its first use.

    cache: completions are looked up there first. max_calls, max_tokens: the budget of this gateway, 0 for none. A
    prompt beyond the budget is not sent. concurrency: prompts under way at a time, 0 for no bound; tokens are only
    known after a reply, so up to so many may exceed `max_tokens`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        cache: ReplyCache | None = None,
        max_calls: int = 0,
        max_tokens: int = 0,
        concurrency: int = MAX_CONCURRENT,
    ) -> None:
        self.endpoint = endpoint
        self._cache = cache
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._concurrency = concurrency or UNLIMITED
        self._usage = ChatUsage()  # only the background loop's thread writes it
        self._under_way = 0
        self._loop = BackgroundLoop()
        self._limit = asyncio.Semaphore(self._concurrency)
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()

    @classmethod
    def of(cls, settings: Settings, local: Callable[[str], CausalLM] = CausalLM) -> ChatGateway:
        """Return the gateway of these settings; `local` makes a model that runs on this machine.

        Raises `LLMError` if the model or a key it needs is missing, `InputError` or `StorageError` if the cache is
        invalid or cannot be used.
        """
        endpoint: Endpoint
        if settings.llm_base_url == LOCAL:
            endpoint = LocalEndpoint(local(settings.llm_model), settings.llm_timeout_s)
        elif settings.llm_base_url == GGUF:
            endpoint = GgufEndpoint(settings.llm_model, settings.home_dir / "models", settings.llm_timeout_s)
        else:
            endpoint = ChatEndpoint(
                base_url=settings.llm_base_url,
                model=settings.llm_model,
                api_key=settings.llm_api_key,
                timeout_s=settings.llm_timeout_s,
                sends_openai_env=sends_openai_env(settings),
                seed=settings.llm_seed or None,
            )
        cache = ReplyCache(Path(settings.llm_cache)) if settings.llm_cache else None
        return cls(
            endpoint,
            cache=cache,
            max_calls=settings.llm_max_calls,
            max_tokens=settings.llm_max_tokens,
            concurrency=settings.llm_concurrency,
        )

    @property
    def usage(self) -> ChatUsage:
        """The cost of the gateway's prompts so far."""
        return self._usage

    def complete(self, prompts: Sequence[Prompt]) -> list[Completed]:
        """Return the outcome of each prompt, in order; at most `concurrency` are sent at a time."""
        future = self.submit(prompts)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def acomplete(self, prompts: Sequence[Prompt]) -> list[Completed]:
        """Do the same as `complete` without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(prompts))

    def submit(self, prompts: Sequence[Prompt]) -> Future[list[Completed]]:
        """Send the prompts and return the future of `complete`; cancelling it ends the calls."""
        return self._loop.submit(self._complete_all(tuple(prompts)))

    def models(self, timeout_s: float) -> list[str] | None:
        """Return the ids of the models that the endpoint lists, None if it has no list; one attempt."""
        return self._loop.submit(self.endpoint.models(timeout_s)).result()

    def close(self) -> None:
        """Close the connections and end running calls."""
        if not self._loop.started:
            return
        self._loop.submit(self.endpoint.close()).result()
        self._loop.close()
        self._limit = asyncio.Semaphore(self._concurrency)  # for the next loop

    async def _complete_all(self, prompts: Sequence[Prompt]) -> list[Completed]:
        return list(await asyncio.gather(*map(self._outcome, prompts)))

    async def _outcome(self, prompt: Prompt) -> Completed:
        if self._cache is None:
            return await self._send(prompt)
        key = self.endpoint.key_of(prompt)
        async with self._turns.setdefault(key, asyncio.Lock()):  # an equal prompt waits for the reply to this one
            return await self._look_up_or_send(prompt, self._cache, key)

    async def _look_up_or_send(self, prompt: Prompt, cache: ReplyCache, key: str) -> Completed:
        try:
            cached = await asyncio.to_thread(cache.get, key)
        except LodestarError as error:
            return LLMError(str(error))
        if cached is not None and prompt.is_read(cached.content):
            self._usage += usage_of(prompt, cached)
            return cached
        completed = await self._send(prompt)
        if isinstance(completed, Completion) and prompt.is_read(completed.content):
            await asyncio.to_thread(cache.put, key, completed)
        return completed

    async def _send(self, prompt: Prompt) -> Completed:
        async with self._limit:
            if over := self._over_budget():
                return LLMError(over)
            self._under_way += 1
            completed: Completed
            try:
                completed = await self.endpoint.complete(prompt)
            except LLMError as error:
                completed = error.with_traceback(None)
            finally:
                self._under_way -= 1
            self._usage += usage_of(prompt, completed)
            return completed

    def _over_budget(self) -> str:
        """Return the message for a prompt that exceeds the budget, else an empty text."""
        spent = self._usage
        if self._max_calls and spent.calls + self._under_way >= self._max_calls:
            return _budget_message("calls", self._max_calls, spent.calls + self._under_way)
        if self._max_tokens and spent.tokens >= self._max_tokens:
            return _budget_message("tokens", self._max_tokens, spent.tokens)
        return ""


def _budget_message(what: str, budget: int, spent: int) -> str:
    name = f"llm_max_{what}"
    return (
        f"the language model's budget of {budget:,} {what} is spent ({spent:,}), so the prompt was not sent: "
        f"raise {name} (LODESTAR_{name.upper()}), or set it to 0 for no budget"
    )


# The cache: one sqlite file with replies and hashes of prompts, but no prompt, address or key

WAIT_S = 30.0
"""Longest wait for another process that writes."""

_APPLICATION_ID = 0x4C4F4443  # LODC
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)

_log = logging.getLogger(__name__)


class ReplyCache:
    """The cache file, created if missing, readable by its owner only.

    Raises `InputError` if the file is damaged or no cache, `StorageError` if it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._warned = False
        with self._translate_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def get(self, key: str) -> Completion | None:
        """Return the completion of a key, None if there is none."""
        with self._translate_errors(), self._lock:
            row = self._connection.execute("SELECT value FROM completions WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else _completion(row[0])
        except (ValueError, KeyError, TypeError):
            raise self._not_a_cache() from None

    def put(self, key: str, completion: Completion) -> None:
        """Store a completion; refusals are not stored. If the file cannot be written, a warning is logged once."""
        if completion.refusal is not None:
            return
        try:
            with self._translate_errors(), self._lock:
                self._connection.execute(
                    "INSERT OR REPLACE INTO completions (key, value) VALUES (?, ?)", (key, _value(completion))
                )
        except LodestarError as error:
            if not self._warned:
                self._warned = True
                _log.warning("replies of the language model are not cached: %s", error)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        """Create the table in an empty file; only one of several processes does."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        (application,) = execute("PRAGMA application_id").fetchone()
        if application == 0 and not execute("SELECT 1 FROM sqlite_schema").fetchone():
            execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            execute("CREATE TABLE completions (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        elif application != _APPLICATION_ID:
            raise self._not_a_cache()
        execute("COMMIT")
        with suppress(sqlite3.OperationalError):  # another process does it
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise errors of sqlite and the file system in one line."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise self._not_a_cache() from None
            raise StorageError(f"{self.path}: the cache of LLM replies cannot be used: {error}") from error
        except OSError as error:
            raise StorageError(
                f"{self.path}: the cache of LLM replies cannot be used: {error.strerror or error}"
            ) from error

    def _not_a_cache(self) -> InputError:
        return InputError(
            f"{self.path}: expected a cache of LLM replies, found another or a damaged file: "
            "delete it, or name another with llm_cache (LODESTAR_LLM_CACHE)"
        )


def _value(completion: Completion) -> str:
    usage = completion.usage and [completion.usage.prompt, completion.usage.completion]
    data = {"content": completion.content, "model": completion.model, "usage": usage, "logprobs": completion.logprobs}
    return json.dumps(data)


def _completion(value: str) -> Completion:
    data = json.loads(value)
    usage = TokenUsage(*map(int, data["usage"])) if data["usage"] else None
    logprobs = tuple((str(token), float(logprob)) for token, logprob in data["logprobs"])
    return Completion(str(data["content"]), None, usage, logprobs, str(data["model"]), cached=True)
