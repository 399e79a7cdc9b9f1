"""An encoder of words: each has a direction of its own, and a text is the sum of its words."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from lodestar.models.text.encoders import FloatArray, SentenceEncoder

DIMENSION = 64


class WordEncoder(SentenceEncoder):
    def __init__(self) -> None:
        super().__init__("words")

    def encode(self, texts: Sequence[str]) -> FloatArray:
        sums = [sum(map(_direction, text.split()), np.zeros(DIMENSION, dtype=np.float32)) for text in texts]
        found = np.array(sums, dtype=np.float32).reshape(-1, DIMENSION)
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-6), dtype=np.float32)


def _direction(word: str) -> FloatArray:
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIMENSION).astype(np.float32)
