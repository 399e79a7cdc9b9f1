"""A checkpoint of ReG@Path at work: questions and paths to log-probabilities."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...text_vectors import TextVectors
from .config import PathDescription
from .network import PathDecoder
from .vocabulary import Vocabulary

Floats = npt.NDArray[np.float32]
AT_A_TIME = 512
"""Paths, each of which has a probability for every token."""


class PathModel:
    """Scores paths over a graph's relations. Threads take turns; `vectors` are of the encoder of its training."""

    def __init__(self, description: PathDescription, network: PathDecoder, vectors: TextVectors) -> None:
        self.description = description
        self.vectors = vectors
        self._network = network
        self._turn = threading.RLock()

    def tokens(self, vocabulary: Vocabulary) -> Tensor:
        """Return the vectors of a vocabulary, (num_tokens, dimension)."""
        return self._encoded(vocabulary.texts)

    def score(self, questions: Sequence[str], paths: npt.NDArray[np.int64], tokens: Tensor) -> tuple[Floats, Floats]:
        """Return the log-probability of each path as the beginning of one, and of it as a whole one.

        questions: masked, of each path. paths: (num_paths, max_length), see `Vocabulary.written`.
        """
        if not len(paths):
            return np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.float32)
        texts = list(dict.fromkeys(questions))
        row = {text: place for place, text in enumerate(texts)}
        with self._turn, torch.no_grad():
            encoded = self._encoded(texts)
            asked = torch.tensor([row[text] for text in questions], device=tokens.device)
            written = torch.from_numpy(paths).to(tokens.device)
            found = [
                self._network(encoded[asked[at : at + AT_A_TIME]], tokens, written[at : at + AT_A_TIME])
                for at in range(0, len(paths), AT_A_TIME)
            ]
        begun, whole = (torch.cat(parts).float().cpu().numpy() for parts in zip(*found, strict=True))
        return begun, whole

    def _encoded(self, texts: Sequence[str]) -> Tensor:
        self.vectors.encode(texts)
        stacked = np.stack([self.vectors.sentence(text) for text in texts])
        return torch.from_numpy(stacked).to(self._network.start.device)
