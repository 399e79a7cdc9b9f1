"""What a linker learns from: the candidates of each question with their features, and which of them it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..training.description import QuestionKey, TrainedOn

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class LinkedCandidates:
    """The candidates of a question set, questions one after another.

    features: (num_candidates, num_features). is_topic: (num_candidates,). starts: (num_questions + 1,). num_topics:
    (num_questions,), those that are no candidates among them. texts: of the questions. feature_names: of the columns.
    """

    name: str
    questions_sha256: str
    graph: str
    texts: tuple[str, ...]
    feature_names: tuple[str, ...]
    features: Floats
    is_topic: Bools
    starts: npt.NDArray[np.int64]
    num_topics: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self, questions: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the rows of the candidates of some questions."""
        spans = [np.arange(self.starts[at], self.starts[at + 1]) for at in questions]
        return np.concatenate(spans) if spans else np.zeros(0, dtype=np.int64)

    @property
    def sha256(self) -> str:
        """The hash of the data."""
        digest = hashlib.sha256(self.features.tobytes())
        for each in (self.is_topic, self.starts, self.num_topics):
            digest.update(each.tobytes())
        return digest.hexdigest()

    @property
    def trained_on(self) -> TrainedOn:
        """What a checkpoint says of it."""
        return TrainedOn(self.name, self.questions_sha256, self.sha256, self.graph, len(self), 0)

    @property
    def question_keys(self) -> list[QuestionKey]:
        """The text of each question, which is its id, too."""
        return [(text, text, frozenset()) for text in self.texts]
