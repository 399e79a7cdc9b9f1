"""Vectors of texts, each encoded once: sentence vectors, and token vectors for late interaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from .encoder import FloatArray, SentenceEncoder
from .kept import Kept

_Entry = tuple[FloatArray, FloatArray | None]
"""The vector of a text, and those of its tokens where they were asked for."""


class TextVectors:
    """A cache in front of an encoder; the texts used longest ago are forgotten beyond `max_texts`.

    Encode many texts ahead with `encode` or `encode_tokens`: one batch is several times faster than one by one. May be
    used from several threads.
    """

    def __init__(self, encoder: SentenceEncoder, max_texts: int = 50_000) -> None:
        self.encoder = encoder
        self.encoding_s = 0.0
        """Seconds spent in the encoder so far."""
        self._turn = threading.RLock()
        self._entries: Kept[str, _Entry] = Kept(max_texts)

    def encode(self, texts: Iterable[str]) -> None:
        """Encode those of the texts that are not here yet."""
        with self._turn:
            missing = [text for text in dict.fromkeys(texts) if text not in self._entries]
            self._fill(missing, lambda: [(vector, None) for vector in self.encoder.encode(missing)])

    def encode_tokens(self, texts: Iterable[str]) -> None:
        """Encode those of the texts whose token vectors are not here yet."""
        with self._turn:
            missing = [
                text for text in dict.fromkeys(texts) if text not in self._entries or self._entries[text][1] is None
            ]
            self._fill(missing, lambda: self.encoder.encode_tokens(missing))

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

    def _fill(self, missing: Sequence[str], encode: Callable[[], Iterable[_Entry]]) -> None:
        if missing:
            started = time.perf_counter()
            entries = encode()
            self.encoding_s += time.perf_counter() - started
            for text, entry in zip(missing, entries, strict=True):
                self._entries.keep(text, entry)
