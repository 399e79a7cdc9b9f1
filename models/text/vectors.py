"""Cache the vectors of texts in memory and, across runs, on disk.

Keys are digests: the file reveals no text. Each row has a checksum; a damaged row counts as missing, and is encoded and
written again. Several processes and threads may use the file at the same time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..atomic_files import make_private_folder
from .encoders import FloatArray, SentenceEncoder

Entry = tuple[FloatArray, FloatArray | None]
"""The vector of a text, (dimension,), and those of its tokens, (num_tokens, dimension), if requested."""

WAIT_S = 1.0
"""How long to wait for another process's write."""
AT_A_TIME = 10_000
MAX_BYTES = 1 << 30
"""The largest file: beyond it no vectors are added. About 600,000 vectors of MiniLM."""
_APPLICATION_ID = 0x4C4F4456  # LODV

_log = logging.getLogger(__name__)

K = TypeVar("K")
V = TypeVar("V")


class LRUCache(OrderedDict[K, V]):
    """The `max_size` entries that were read or written last."""

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self._max_size = max_size

    def __getitem__(self, key: K) -> V:
        self.move_to_end(key)
        return super().__getitem__(key)

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._max_size:
            self.popitem(last=False)


class SqliteVectorStore:
    """The stored vectors of one encoder. The file is created if missing, readable by its owner alone.

    All content can be computed again: if the file is unusable, that is logged once, and the store acts as empty.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._turn = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with self._tolerant():
            make_private_folder(path.parent)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
            try:
                _prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection

    def get(self, texts: Sequence[str], dimension: int) -> dict[str, Entry]:
        """Return the stored rows of these texts that are undamaged and have this dimension."""
        found: dict[str, Entry] = {}
        with self._turn, self._tolerant():
            for start in range(0, len(texts) if self._connection else 0, AT_A_TIME):
                by_key = {_key(text): text for text in texts[start : start + AT_A_TIME]}
                assert self._connection is not None
                rows = self._connection.execute(
                    "SELECT key, dimension, CAST(data AS BLOB), CAST(checksum AS BLOB) FROM vectors "
                    "WHERE dimension = ? AND key IN (SELECT value FROM json_each(?))",
                    (dimension, json.dumps(list(by_key))),
                )
                found |= {by_key[row[0]]: _entry(*row[1:3]) for row in rows if _is_whole(*row)}
        return found

    def put(self, entries: Mapping[str, Entry]) -> None:
        """Store these rows; they replace older ones of the same texts."""
        with self._turn, self._tolerant():
            if self._connection is None or self._size() > self._max_bytes:
                return
            rows = [_row(text, vector, tokens) for text, (vector, tokens) in entries.items()]
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _size(self) -> int:
        assert self._connection is not None
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (bytes_of_page,) = self._connection.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(bytes_of_page)

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            if isinstance(error, sqlite3.OperationalError) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY:
                return  # another process writes: skip the store this time
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            _log.warning(
                "%s: the vectors of texts cannot be stored and are computed each time (%s): delete the file, or "
                "make room for it",
                self.path,
                error,
            )


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _prepare(connection: sqlite3.Connection) -> None:
    """Create the table in an empty file; of several processes only one does. Raises `ValueError` for another file."""
    execute = connection.execute
    execute("BEGIN IMMEDIATE")
    (application,) = execute("PRAGMA application_id").fetchone()
    if application != _APPLICATION_ID:
        if application or execute("SELECT 1 FROM sqlite_schema").fetchone():
            raise ValueError("expected a store of vectors, found another file")
        execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        execute(
            "CREATE TABLE vectors (key TEXT PRIMARY KEY, dimension INTEGER NOT NULL, data BLOB NOT NULL, "
            "checksum BLOB NOT NULL)"
        )
    execute("COMMIT")
    execute("PRAGMA journal_mode = WAL")
    execute("PRAGMA synchronous = NORMAL")


def _key(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _row(text: str, vector: FloatArray, tokens: FloatArray | None) -> tuple[str, int, bytes, bytes]:
    key, dimension = _key(text), len(vector)
    rows = vector[None] if tokens is None else np.concatenate([vector[None], tokens])
    data = np.ascontiguousarray(rows, dtype="<f4").tobytes()
    return key, dimension, data, _checksum(key, dimension, data)


def _checksum(key: str, dimension: int, data: bytes) -> bytes:
    return hashlib.blake2b(b"%s %d %s" % (key.encode(), dimension, data), digest_size=8).digest()


def _is_whole(key: str, dimension: int, data: bytes, checksum: bytes) -> bool:
    return bool(data) and checksum == _checksum(key, dimension, data)


def _entry(dimension: int, data: bytes) -> Entry:
    rows = np.frombuffer(data, dtype="<f4").reshape(-1, dimension).astype(np.float32, copy=False)
    return rows[0], rows[1:] if len(rows) > 1 else None


class TextVectors:
    """An LRU cache of at most `max_texts` texts in front of an encoder.

    Encode many texts ahead with `encode` or `encode_tokens`: one batch is several times faster than single texts.
    Lasting texts, which belong to the graph and not to a question, are read from and written to the `store`.
    Thread-safe.
    """

    def __init__(
        self, encoder: SentenceEncoder, max_texts: int = 50_000, store: SqliteVectorStore | None = None
    ) -> None:
        self.encoder = encoder
        self._store = store
        self.num_encoded = 0
        """Texts that the encoder was given so far."""
        self._turn = threading.RLock()
        self._entries: LRUCache[str, Entry] = LRUCache(max_texts)

    def encode(self, texts: Iterable[str], *, lasting: bool = False) -> None:
        self._fill(texts, lasting=lasting, with_tokens=False)

    def encode_tokens(self, texts: Iterable[str], *, lasting: bool = False) -> None:
        """Encode the texts whose token vectors are not cached."""
        self._fill(texts, lasting=lasting, with_tokens=True)

    def stack(self, texts: Sequence[str], *, lasting: bool = False) -> FloatArray:
        """Return the unit vectors of some texts, (num_texts, dimension)."""
        with self._turn:
            self.encode(texts, lasting=lasting)
            return np.stack([self.sentence(text) for text in texts]) if texts else self.encoder.encode([])

    def sentence(self, text: str) -> FloatArray:
        """Return the unit vector of a text, (dimension,)."""
        with self._turn:
            if text not in self._entries:
                self.encode([text])
            return self._entries[text][0]

    def tokens(self, text: str) -> FloatArray:
        """Return the unit vectors of a text's tokens, (num_tokens, dimension)."""
        with self._turn:
            self.encode_tokens([text])
            tokens = self._entries[text][1]
            assert tokens is not None
            return tokens

    def _fill(self, texts: Iterable[str], *, lasting: bool, with_tokens: bool) -> None:
        def is_known(text: str, entries: Mapping[str, Entry]) -> bool:
            return text in entries and not (with_tokens and entries[text][1] is None)

        with self._turn:
            missing = [text for text in dict.fromkeys(texts) if not is_known(text, self._entries)]
            store = self._store if lasting else None
            if store is not None and missing:
                kept = store.get(missing, self.encoder.dimension)
                for text in missing:
                    if is_known(text, kept):
                        self._entries[text] = kept[text]
                missing = [text for text in missing if not is_known(text, kept)]
            if missing:
                encoded: Iterable[Entry] = (
                    self.encoder.encode_tokens(missing)
                    if with_tokens
                    else ((vector, None) for vector in self.encoder.encode(missing))
                )
                entries = dict(zip(missing, encoded, strict=True))
                self.num_encoded += len(missing)
                for text, entry in entries.items():
                    self._entries[text] = entry
                if store is not None:
                    store.put(entries)


def memoise_encoder(encode: Callable[[Sequence[str]], FloatArray]) -> Callable[[Sequence[str]], FloatArray]:
    """Return an encoder that remembers all texts: sets of a training share most of their entities."""
    known: dict[str, FloatArray] = {}

    def encode_new(texts: Sequence[str]) -> FloatArray:
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, encode(missing), strict=True))
        return np.stack([known[text] for text in texts])

    return encode_new
