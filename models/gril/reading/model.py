"""A trained reader at work: passages to answers, by what it does."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..config import GrilDescription, ReaderDescription
from .asked import JointReader
from .choosing import ChoosingReader
from .learning import is_answer
from .passages import Passage
from .pointing import PointingReader
from .writing import WritingReader, WrittenReply

Tokens = Sequence[Sequence[float]]
"""The graph token of each passage, not looked at where the reader takes none."""


class ReaderModel:
    """Answers with a checkpoint; threads take turns. Of the three methods the one that `description.reads` names."""

    def __init__(self, description: GrilDescription, reader: JointReader) -> None:
        assert description.reader is not None
        self.description: ReaderDescription = description.reader
        self._reader = reader
        self._turn = threading.RLock()

    def read(
        self, passages: Sequence[Passage], tokens: Tokens
    ) -> list[tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]]:
        """Return of each passage how likely each candidate is, and which of them are answers."""
        if not passages:
            return []
        assert isinstance(self._reader, PointingReader)
        with self._turn, torch.no_grad():
            pointed = self._reader(passages, self._tensor(tokens))
        probabilities, question_of = pointed.probabilities.cpu().numpy(), pointed.question_of.cpu().numpy()
        each = [probabilities[question_of == number] for number in range(len(passages))]
        return [(scores, is_answer(scores, self.description.share)) for scores in each]

    def choose(
        self, passages: Sequence[Passage], options: Sequence[Sequence[str]], tokens: Tokens
    ) -> list[npt.NDArray[np.float32]]:
        """Return of each passage how likely each of its options is; every one has some."""
        if not passages:
            return []
        assert isinstance(self._reader, ChoosingReader)
        with self._turn, torch.no_grad():
            found: list[Tensor] = self._reader(passages, options, self._tensor(tokens))
        return [each.exp().cpu().numpy() for each in found]

    def write(self, passages: Sequence[Passage], tokens: Tokens) -> list[WrittenReply]:
        """Return what is written of each passage."""
        if not passages:
            return []
        assert isinstance(self._reader, WritingReader)
        with self._turn:
            return self._reader.replies(passages, self._tensor(tokens))

    def _tensor(self, tokens: Tokens) -> Tensor | None:
        if not self.description.token:
            return None
        return torch.tensor(tokens, dtype=torch.float32).to(self._reader.pretrained()[0].device)
