"""Configure the trained linker, and hold the candidates it is trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ..ranges import Positive, Range, Ranged
from ..training.description import ModelDescription, QuestionKey, TrainingDataRecord
from ..training.objective import TrainingOptions

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Hidden = Annotated[int, Range(1, 1_024)]
Candidates = Annotated[int, Range(1, 100)]


@dataclass(frozen=True, slots=True, eq=False)
class LinkedCandidates:
    """The candidates of a question set, questions one after another.

    features: (num_candidates, num_features). is_topic: (num_candidates,). starts: (num_questions + 1,). num_topics:
    (num_questions,), including topics that are not candidates. texts: of the questions. feature_names: of the columns.
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
    def trained_on(self) -> TrainingDataRecord:
        """The training data's description in a checkpoint."""
        return TrainingDataRecord(self.name, self.questions_sha256, self.sha256, self.graph, len(self), 0)

    @property
    def question_keys(self) -> list[QuestionKey]:
        """The text of each question, which is also its id."""
        return [(text, text, frozenset()) for text in self.texts]


FIGURES = ("recall_at_1", "recall_at_3", "loss")
"""Figures of a checkpoint: the mean share of a question's topics ranked first (of as many as can be), the mean share in
the top three, and the mean cross-entropy of a candidate.
"""


@dataclass(frozen=True, slots=True)
class LinkerConfig(Ranged):
    """encoder: of relations and questions, by name or path; it is not trained. hidden: units of the network.
    candidates: per question, in training and when linking. batch_size: questions per step.
    """

    encoder: str = "all-MiniLM-L6-v2"
    hidden: Hidden = 32
    candidates: Candidates = 20
    batch_size: Positive = 32
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=30, learning_rate=5e-3, head_learning_rate=5e-3, weight_decay=0.01, patience=8
        )
    )


PART = "mlp"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkerDescription(ModelDescription):
    """The fields of ``linker.json``. features: names of a candidate's features, in order."""

    kind: ClassVar[str] = "linker"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    features: tuple[str, ...]
    hidden: Hidden
    candidates: Candidates
