"""What a reader is asked, and what every reader has to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .passages import Passage

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

MAX_ANSWERS = 10
"""Names that a reader that writes is taught of a question. Ours."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is known of a question beside its subgraph. answers: names of the right ones, which need not be in any
    graph. options: where it is a choice; `right` is then the place of the right one."""

    answers: tuple[str, ...]
    options: tuple[str, ...] = ()
    right: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what its reader is given. is_right: of each candidate of the passage. num_answers: right ones, in
    the passage or not, of those its subgraph has."""

    passage: Passage
    is_right: tuple[bool, ...]
    num_answers: int
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class Judged:
    """What a reader said: how likely each candidate is, which are right, and how many there are to be found."""

    scores: Floats
    is_right: Bools
    num_answers: int


class JointReader(Protocol):
    """A reader φ that learns with a retriever, an `nn.Module`. tokens: the graph token of each question, (num_asked,
    width), None of a reader without; precision: what it computes in where that is not the type of its weights."""

    @property
    def width(self) -> int:
        """Of its embeddings."""
        ...

    def loss(self, asked: Sequence[Asked], tokens: Tensor | None, precision: torch.dtype | None = None) -> Tensor:
        """Return the mean of −log P(a | G_s, q) over the questions that can be answered, a scalar."""
        ...

    def judged(
        self, asked: Sequence[Asked], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> list[Judged]:
        """Return what it says to each question."""
        ...

    def pretrained(self) -> Sequence[Tensor]:
        """Return the parameters that were trained before, and those of a LoRA: they learn at a lower rate."""
        ...

    def learned(self) -> Mapping[str, Tensor]:
        """Return the weights that a training changes."""
        ...
