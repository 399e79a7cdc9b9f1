"""Vectors of texts, each encoded once: sentence vectors, and token vectors for late interaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from cachetools import LRUCache

from .encoder import FloatArray, SentenceEncoder
from .encoding.vector_store import Entry, VectorStore


class TextVectors:
    """A cache in front of an encoder; the texts used longest ago are forgotten beyond `max_texts`.

    Encode many texts ahead with `encode` or `encode_tokens`: one batch is several times faster than one by one. Those
    that last, which are of the graph and not of a question, are looked for in the `store` first, and put there. May be
    used from several threads.
    """

    def __init__(self, encoder: SentenceEncoder, max_texts: int = 50_000, store: VectorStore | None = None) -> None:
        self.encoder = encoder
        self._store = store
        self.encoding_s = 0.0
        """Seconds spent in the encoder so far."""
        self._turn = threading.RLock()
        self._entries: LRUCache[str, Entry] = LRUCache(max_texts)

    def encode(self, texts: Iterable[str], *, lasting: bool = False) -> None:
        """Encode those of the texts that are not here yet."""
        with self._turn:
            missing = [text for text in dict.fromkeys(texts) if text not in self._entries]
            self._fill(missing, lambda some: [(vector, None) for vector in self.encoder.encode(some)], lasting=lasting)

    def encode_tokens(self, texts: Iterable[str], *, lasting: bool = False) -> None:
        """Encode those of the texts whose token vectors are not here yet."""
        with self._turn:
            missing = [
                text for text in dict.fromkeys(texts) if text not in self._entries or self._entries[text][1] is None
            ]
            self._fill(missing, self.encoder.encode_tokens, lasting=lasting, with_tokens=True)

    def stacked(self, texts: Sequence[str], *, lasting: bool = False) -> FloatArray:
        """Return the unit vectors of some texts, (num_texts, dimension)."""
        with self._turn:
            self.encode(texts, lasting=lasting)
            return np.stack([self.sentence(text) for text in texts])

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

    def _fill(
        self,
        missing: Sequence[str],
        encode: Callable[[Sequence[str]], Iterable[Entry]],
        *,
        lasting: bool,
        with_tokens: bool = False,
    ) -> None:
        store = self._store if lasting else None
        if store is not None and missing:
            kept = store.get(missing, self.encoder.dimension)
            for text, entry in kept.items():
                if entry[1] is not None or not with_tokens:
                    self._entries[text] = entry
            missing = [text for text in missing if text not in kept or (with_tokens and kept[text][1] is None)]
        if missing:
            started = time.perf_counter()
            entries = dict(zip(missing, encode(missing), strict=True))
            self.encoding_s += time.perf_counter() - started
            for text, entry in entries.items():
                self._entries[text] = entry
            if store is not None:
                store.put(entries)
