"""Send prompts to the configured language model within a budget, and keep its replies."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from weakref import WeakValueDictionary

from ..errors import InputError, LLMError, LodestarError, StorageError
from ..parallel import start_in_thread
from ..settings import Settings, is_address_of_openai
from . import ChatUsage, Completed, Completion, Prompt, TokenUsage, compute_call_usage
from .endpoint import GGUF, ChatEndpoint, GgufEndpoint

Endpoint = ChatEndpoint | GgufEndpoint

MAX_CONCURRENT = 8
"""Prompts at a time, if nothing else is said."""
UNLIMITED = 10_000


class ChatGateway:
    """Send prompts to one endpoint, from any thread. It starts no thread before its first use.

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
        self.usage = ChatUsage()
        """The cost of the gateway's prompts so far."""
        self._cache = cache
        self._max_calls = max_calls
        self._max_tokens = max_tokens
        self._concurrency = concurrency or UNLIMITED
        self._under_way = 0
        self._counting = threading.Lock()
        self._limit = threading.Semaphore(self._concurrency)
        self._turns: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    @classmethod
    def of(cls, settings: Settings) -> ChatGateway:
        """Return the gateway of these settings.

        Raises `LLMError` if the model or a key it needs is missing, `InputError` or `StorageError` if the cache is
        invalid or cannot be used.
        """
        endpoint: Endpoint
        if settings.llm_base_url == GGUF:
            endpoint = GgufEndpoint(settings.llm_model, settings.home_dir / "models", settings.llm_timeout_s)
        else:
            endpoint = ChatEndpoint(
                base_url=settings.llm_base_url,
                model=settings.llm_model,
                api_key=settings.llm_api_key,
                timeout_s=settings.llm_timeout_s,
                sends_openai_env=is_address_of_openai(settings.llm_base_url),
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

    def complete(self, prompts: Sequence[Prompt]) -> list[Completed]:
        """Return the outcome of each prompt, in order; at most `concurrency` are sent at a time, and after Ctrl-C no
        more."""
        numbered = iter(list(enumerate(prompts)))  # shared by the threads
        outcomes: dict[int, Completed] = {}

        def work() -> None:
            for place, prompt in numbered:
                outcomes[place] = self._look_up_or_send(prompt)

        try:  # from the first thread on: it may be interrupted before the last one starts
            threads = [start_in_thread(work, "lodestar-chat") for _ in range(min(self._concurrency, len(prompts)))]
            for each in threads:
                each.result()
        finally:
            list(numbered)
        return [outcomes[place] for place in range(len(prompts))]

    def close(self) -> None:
        self.endpoint.close()

    def _look_up_or_send(self, prompt: Prompt) -> Completed:
        if self._cache is None:
            return self._send(prompt)
        key = self.endpoint.key_of(prompt)
        with self._counting:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:  # an equal prompt waits for the reply to this one
            try:
                cached = self._cache.get(key)
            except LodestarError as error:
                return LLMError(str(error))
            if cached is not None and prompt.is_read(cached.content):
                with self._counting:
                    self.usage += compute_call_usage(prompt, cached)
                return cached
            completed = self._send(prompt)
            if isinstance(completed, Completion) and prompt.is_read(completed.content):
                self._cache.put(key, completed)
            return completed

    def _send(self, prompt: Prompt) -> Completed:
        with self._limit:
            with self._counting:
                if over := self._over_budget():
                    return LLMError(over)
                self._under_way += 1
            completed: Completed = LLMError("the language model was interrupted")
            try:
                completed = self.endpoint.complete(prompt)
            except LLMError as error:
                completed = error.with_traceback(None)
            finally:
                with self._counting:
                    self._under_way -= 1
                    self.usage += compute_call_usage(prompt, completed)
            return completed

    def _over_budget(self) -> str:
        calls, tokens = self.usage.calls + self._under_way, self.usage.tokens
        for what, budget, spent in (("calls", self._max_calls, calls), ("tokens", self._max_tokens, tokens)):
            if budget and spent >= budget:
                name = f"llm_max_{what}"
                return (
                    f"the language model's budget of {budget:,} {what} is spent ({spent:,}), so the prompt was not "
                    f"sent: raise {name} (LODESTAR_{name.upper()}), or set it to 0 for no budget"
                )
        return ""


WAIT_S = 30.0
"""Longest wait for another process that writes."""

_APPLICATION_ID = 0x4C4F4443  # LODC
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)

_log = logging.getLogger(__name__)


class ReplyCache:
    """A sqlite file with replies and hashes of prompts, but no prompt, address or key; only its owner can read it.

    It is created if missing. Raises `InputError` if it is damaged or no cache, `StorageError` if it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._warned = False
        with self._translate_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def get(self, key: str) -> Completion | None:
        with self._translate_errors(), self._lock:
            row = self._connection.execute("SELECT value FROM completions WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else _parse_completion(row[0])
        except (ValueError, KeyError, TypeError):
            raise self._not_a_cache() from None

    def put(self, key: str, completion: Completion) -> None:
        """Store a completion; refusals are not stored. If the file cannot be written, a warning is logged once."""
        if completion.refusal is not None:
            return
        value = json.dumps(asdict(completion))
        try:
            with self._translate_errors(), self._lock:
                self._connection.execute("INSERT OR REPLACE INTO completions VALUES (?, ?)", (key, value))
        except LodestarError as error:
            if not self._warned:
                self._warned = True
                _log.warning("replies of the language model are not cached: %s", error)

    def close(self) -> None:
        self._connection.close()

    def _prepare(self) -> None:
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
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise self._not_a_cache() from None
            reason = getattr(error, "strerror", None) or error
            raise StorageError(f"{self.path}: the cache of LLM replies cannot be used: {reason}") from error

    def _not_a_cache(self) -> InputError:
        return InputError(
            f"{self.path}: expected a cache of LLM replies, found another or a damaged file: "
            "delete it, or name another with llm_cache (LODESTAR_LLM_CACHE)"
        )


def _parse_completion(value: str) -> Completion:
    data = json.loads(value)
    usage = TokenUsage(int(data["usage"]["prompt"]), int(data["usage"]["completion"])) if data["usage"] else None
    logprobs = tuple((str(token), float(logprob)) for token, logprob in data["logprobs"])
    return Completion(str(data["content"]), None, usage, logprobs, str(data["model"]), cached=True)
