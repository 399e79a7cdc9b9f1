"""An encoder that counts letters: enough to tell texts apart, for tests that need vectors and no model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lodestar.models.text.encoders import FloatArray, SentenceEncoder


class LetterEncoder(SentenceEncoder):
    def __init__(self) -> None:
        super().__init__("letters")
        self.batches: list[int] = []
        """How many texts each batch had."""

    def encode(self, texts: Sequence[str]) -> FloatArray:
        self.batches.append(len(texts))
        counts = np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float32)
        counts = counts.reshape(-1, 26)
        return np.asarray(counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1), dtype=np.float32)
