"""Cache completions of the language model in one sqlite file, so that an equal prompt is paid for once.

The file holds replies and hashes of prompts, but no prompt, address or key. Several processes and threads may use it at
the same time.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..errors import InputError, LodestarError, StorageError
from ..values import TokenUsage
from .prompts import Completion, Prompt

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


def key_of(address: str, model: str, prompt: Prompt, options: dict[str, Any]) -> str:
    """Return the cache key of a call: equal for equal content, and nothing can be read from it."""
    messages = [[message.role, message.content] for message in prompt.messages]
    return sha256(json.dumps([address, model, messages, options], sort_keys=True).encode()).hexdigest()


def _value(completion: Completion) -> str:
    usage = completion.usage and [completion.usage.prompt, completion.usage.completion]
    data = {"content": completion.content, "model": completion.model, "usage": usage, "logprobs": completion.logprobs}
    return json.dumps(data)


def _completion(value: str) -> Completion:
    data = json.loads(value)
    usage = TokenUsage(*map(int, data["usage"])) if data["usage"] else None
    logprobs = tuple((str(token), float(logprob)) for token, logprob in data["logprobs"])
    return Completion(str(data["content"]), None, usage, logprobs, str(data["model"]), cached=True)
