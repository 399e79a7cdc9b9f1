"""Send prompts to the configured language model within a budget and a deadline."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from ...models.language.causal_lm import CausalLM
from ..errors import LLMError, LodestarError
from ..settings import Settings, sends_openai_env
from .cache import ReplyCache
from .embedded import GGUF, GgufEndpoint
from .endpoint import ChatEndpoint
from .local import LOCAL, Endpoint, LocalEndpoint
from .prompts import ChatUsage, Completed, Completion, Prompt, usage_of

T = TypeVar("T")


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
