"""An encoder that counts letters: enough to tell texts apart, for tests that need vectors and no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lodestar.models.text.encoders import FloatArray, SentenceEncoder


class LetterEncoder(SentenceEncoder):
    def __init__(self) -> None:
        super().__init__("letters")

    def encode(self, texts: Sequence[str]) -> FloatArray:
        counts = np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float32)
        counts = counts.reshape(-1, 26)
        return np.asarray(counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1), dtype=np.float32)

    def encode_tokens(self, texts: Sequence[str]) -> list[Any]:
        """The words of a text are its tokens."""
        return [(self.encode([text])[0], self.encode(text.split() or [""])) for text in texts]
