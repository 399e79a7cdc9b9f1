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
from .endpoint import ChatEndpoint
from .local import LOCAL, Endpoint, LocalEndpoint
from .prompts import ChatUsage, Completed, Completion, Prompt, usage_of

T = TypeVar("T")


class BackgroundLoop:
    """An event loop that starts at the first `submit` and ends with `close`, or when nobody holds this object."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: weakref.finalize[[asyncio.AbstractEventLoop], BackgroundLoop] | None = None

    @property
    def started(self) -> bool:
        """Whether there is a loop now."""
        return self._loop is not None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start the work and return what to wait for; cancelling that cancels the work."""
        with self._starting:
            if self._loop is None:
                runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
                self._loop = runner.get_loop()
                self._end = weakref.finalize(self, _stop, self._loop)
                threading.Thread(target=_run, args=(runner,), name="lodestar-chat", daemon=True).start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End the loop; work that is under way is cancelled. The next `submit` starts another."""
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


class ChatGateway:
    """Asks one endpoint, from any thread and any event loop. Nothing is sent, and no thread started, before it is used.

    cache: where completions are kept, and looked up before anything is sent. max_calls, max_tokens: the budget of this
    gateway's life, 0 for none. A prompt beyond it is not sent. Tokens are known when a reply is there, so that those of
    up to `MAX_CONCURRENT` prompts may go beyond `max_tokens`.
    """

    def __init__(
        self, endpoint: Endpoint, *, cache: ReplyCache | None = None, max_calls: int = 0, max_tokens: int = 0
    ) -> None:
        self.endpoint = endpoint
        self._cache = cache
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._usage = ChatUsage()  # written by the background loop's thread alone
        self._under_way = 0
        self._loop = BackgroundLoop()
        self._limit = asyncio.Semaphore(MAX_CONCURRENT)

    @classmethod
    def of(cls, settings: Settings, local: Callable[[str], CausalLM] = CausalLM) -> ChatGateway:
        """Return the gateway of these settings; `local` makes a model that runs here.

        Raises `LLMError` when the model, or a key it needs, is missing, `InputError` or `StorageError` for a cache that
        is none or cannot be used.
        """
        endpoint: Endpoint
        if settings.llm_base_url == LOCAL:
            endpoint = LocalEndpoint(local(settings.llm_model), settings.llm_timeout_s)
        else:
            endpoint = ChatEndpoint(
                base_url=settings.llm_base_url,
                model=settings.llm_model,
                api_key=settings.llm_api_key,
                timeout_s=settings.llm_timeout_s,
                sends_openai_env=sends_openai_env(settings),
            )
        cache = ReplyCache(Path(settings.llm_cache)) if settings.llm_cache else None
        return cls(endpoint, cache=cache, max_calls=settings.llm_max_calls, max_tokens=settings.llm_max_tokens)

    @property
    def usage(self) -> ChatUsage:
        """What the gateway's prompts have cost until now."""
        return self._usage

    def complete(self, prompts: Sequence[Prompt]) -> list[Completed]:
        """Return what came of each prompt, in order; at most `MAX_CONCURRENT` are sent at a time."""
        completing = self.submit(prompts)
        try:
            return completing.result()
        except BaseException:
            completing.cancel()
            raise

    async def acomplete(self, prompts: Sequence[Prompt]) -> list[Completed]:
        """Return the same as `complete` without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(prompts))

    def submit(self, prompts: Sequence[Prompt]) -> Future[list[Completed]]:
        """Send the prompts and return at once with what `complete` waits for; cancelling it ends the calls."""
        return self._loop.submit(self._completed(tuple(prompts)))

    def models(self, timeout_s: float) -> list[str] | None:
        """Return the ids of the models that the endpoint lists, None where it keeps no list; one attempt."""
        return self._loop.submit(self.endpoint.models(timeout_s)).result()

    def close(self) -> None:
        """Give the connections back; calls under way are ended."""
        if not self._loop.started:
            return
        self._loop.submit(self.endpoint.close()).result()
        self._loop.close()
        self._limit = asyncio.Semaphore(MAX_CONCURRENT)  # the next loop's own

    async def _completed(self, prompts: Sequence[Prompt]) -> list[Completed]:
        return list(await asyncio.gather(*map(self._outcome, prompts)))

    async def _outcome(self, prompt: Prompt) -> Completed:
        if self._cache is None:
            return await self._sent(prompt)
        key = self.endpoint.key_of(prompt)
        try:
            kept = await asyncio.to_thread(self._cache.get, key)
        except LodestarError as error:
            return LLMError(str(error))
        if kept is not None and prompt.is_read(kept.content):
            self._usage += usage_of(prompt, kept)
            return kept
        completed = await self._sent(prompt)
        if isinstance(completed, Completion) and prompt.is_read(completed.content):
            await asyncio.to_thread(self._cache.put, key, completed)
        return completed

    async def _sent(self, prompt: Prompt) -> Completed:
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
        """Return the one line for a prompt that the budget forbids, else an empty text."""
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
