"""Vectors of texts, each encoded once: sentence vectors, and token vectors for late interaction."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from .encoder import FloatArray, SentenceEncoder


@dataclass(frozen=True, slots=True)
class _Entry:
    sentence: FloatArray
    tokens: FloatArray | None


class TextVectors:
    """A cache in front of an encoder; the texts used longest ago are forgotten beyond `max_texts`.

    Encode many texts ahead with `encode` or `encode_tokens`: one batch is several times faster than one by one. May be
    used from several threads.
    """

    def __init__(self, encoder: SentenceEncoder, max_texts: int = 50_000) -> None:
        self.encoder = encoder
        self.max_texts = max_texts
        self.encoding_s = 0.0
        """Seconds spent in the encoder so far."""
        self._turn = threading.RLock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def encode(self, texts: Iterable[str]) -> None:
        """Encode those of the texts that are not here yet."""
        with self._turn:
            missing = [t for t in dict.fromkeys(texts) if t not in self._entries]
            if missing:
                started = time.perf_counter()
                vectors = self.encoder.encode(missing)
                self.encoding_s += time.perf_counter() - started
                for text, vector in zip(missing, vectors, strict=True):
                    self._keep(text, _Entry(vector, None))

    def encode_tokens(self, texts: Iterable[str]) -> None:
        """Encode those of the texts whose token vectors are not here yet."""
        with self._turn:
            missing = [t for t in dict.fromkeys(texts) if t not in self._entries or self._entries[t].tokens is None]
            if missing:
                started = time.perf_counter()
                encoded = self.encoder.encode_tokens(missing)
                self.encoding_s += time.perf_counter() - started
                for text, (sentence, tokens) in zip(missing, encoded, strict=True):
                    self._keep(text, _Entry(sentence, tokens))

    def sentence(self, text: str) -> FloatArray:
        """Return the unit vector of a text, (dimension,)."""
        with self._turn:
            if text not in self._entries:
                self.encode([text])
            self._entries.move_to_end(text)
            return self._entries[text].sentence

    def tokens(self, text: str) -> FloatArray:
        """Return the unit vectors of a text's tokens, (num_tokens, dimension)."""
        with self._turn:
            if text not in self._entries or self._entries[text].tokens is None:
                self.encode_tokens([text])
            self._entries.move_to_end(text)
            tokens = self._entries[text].tokens
            assert tokens is not None
            return tokens

    def _keep(self, text: str, entry: _Entry) -> None:
        self._entries[text] = entry
        self._entries.move_to_end(text)
        while len(self._entries) > self.max_texts:
            self._entries.popitem(last=False)
