"""Completions by the content of what was asked, in one sqlite file, so that the same question is paid for once.

The file holds what models said and a hash of what they were asked, no prompt, address or key. Several processes and
threads may use it at the same time.
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
"""How long to wait for another process that writes."""

_APPLICATION_ID = 0x4C4F4443  # LODC
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)

_log = logging.getLogger(__name__)


class ReplyCache:
    """The cache in a file, which is made where there is none, readable by its owner alone.

    Raises `InputError` for a file that is something else or damaged, `StorageError` for one that cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._warned = False
        with self._told():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def get(self, key: str) -> Completion | None:
        """Return what is kept under a key, None where nothing is."""
        with self._told(), self._lock:
            row = self._connection.execute("SELECT value FROM completions WHERE key = ?", (key,)).fetchone()
        try:
            return None if row is None else _completion(row[0])
        except (ValueError, KeyError, TypeError):
            raise self._not_ours() from None

    def put(self, key: str, completion: Completion) -> None:
        """Keep what a model said; a refusal is not kept. Where the file cannot be written that is logged, once."""
        if completion.refusal is not None:
            return
        try:
            with self._told(), self._lock:
                self._connection.execute(
                    "INSERT OR REPLACE INTO completions (key, value) VALUES (?, ?)", (key, _value(completion))
                )
        except LodestarError as error:
            if not self._warned:
                self._warned = True
                _log.warning("replies of the language model are not kept: %s", error)

    def close(self) -> None:
        """Give the file back."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        """Make the table in an empty file; of several processes one does."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        (application,) = execute("PRAGMA application_id").fetchone()
        if application == 0 and not execute("SELECT 1 FROM sqlite_schema").fetchone():
            execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            execute("CREATE TABLE completions (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        elif application != _APPLICATION_ID:
            raise self._not_ours()
        execute("COMMIT")
        with suppress(sqlite3.OperationalError):  # another process is at it
            execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raise sqlite's errors, and the file system's, in one line."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise self._not_ours() from None
            raise StorageError(f"{self.path}: the cache of LLM replies cannot be used: {error}") from error
        except OSError as error:
            raise StorageError(
                f"{self.path}: the cache of LLM replies cannot be used: {error.strerror or error}"
            ) from error

    def _not_ours(self) -> InputError:
        return InputError(
            f"{self.path}: expected a cache of LLM replies, found another or a damaged file: "
            "delete it, or name another with llm_cache (LODESTAR_LLM_CACHE)"
        )


def key_of(address: str, model: str, prompt: Prompt, options: dict[str, Any]) -> str:
    """Return what stands for a call: equal for equal content, and nothing can be read from it."""
    messages = [[message.role, message.content] for message in prompt.messages]
    return sha256(json.dumps([address, model, messages, options], sort_keys=True).encode()).hexdigest()


def _value(completion: Completion) -> str:
    usage = completion.usage and [completion.usage.prompt, completion.usage.completion]
    kept = {"content": completion.content, "model": completion.model, "usage": usage, "logprobs": completion.logprobs}
    return json.dumps(kept)


def _completion(value: str) -> Completion:
    kept = json.loads(value)
    usage = TokenUsage(*map(int, kept["usage"])) if kept["usage"] else None
    logprobs = tuple((str(token), float(logprob)) for token, logprob in kept["logprobs"])
    return Completion(str(kept["content"]), None, usage, logprobs, str(kept["model"]), cached=True)
