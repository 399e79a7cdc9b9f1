"""A trained reader at work: passages to answers."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from ..checkpoint import GrilDescription, ReaderDescription
from .learning import is_answer
from .passages import Passage
from .reader import Reader


class ReaderModel:
    """Points at answers with a checkpoint; threads take turns."""

    def __init__(self, description: GrilDescription, reader: Reader) -> None:
        assert description.reader is not None
        self.description: ReaderDescription = description.reader
        self._reader = reader
        self._turn = threading.RLock()

    def read(
        self, passages: Sequence[Passage], tokens: Sequence[Sequence[float]]
    ) -> list[tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]]:
        """Return of each passage how likely each candidate is, and which of them are answers.

        tokens: the graph token of each, not looked at where the reader takes none.
        """
        if not passages:
            return []
        given = torch.tensor(tokens, dtype=torch.float32) if self.description.token else None
        with self._turn, torch.no_grad():
            device = self._reader.out.weight.device
            pointed = self._reader(passages, None if given is None else given.to(device))
        probabilities, question_of = pointed.probabilities.cpu().numpy(), pointed.question_of.cpu().numpy()
        each = [probabilities[question_of == number] for number in range(len(passages))]
        return [(scores, is_answer(scores, self.description.share)) for scores in each]
