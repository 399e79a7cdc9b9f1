"""Configure the training of ReG@Path's decoder, and describe its checkpoint."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from ..ranges import Dimension, NumPhrases, Positive, Ranged, Width
from ..training.description import ModelDescription
from ..training.objective import TrainingOptions

FIGURES = ("log_likelihood", "first_right")
"""Figures of a checkpoint: the mean log-likelihood of a right path, and the share of dev questions whose likeliest
candidate (of the chains that leave its topics) is right.
"""


@dataclass(frozen=True, slots=True)
class PathConfig(Ranged):
    """encoder: text encoder, by name or path; it is not trained. hidden: units of the decoder. batch_size: paths per
    step. phrases: how many of what people say for a relation follow its words.
    """

    encoder: str = "all-MiniLM-L6-v2"
    hidden: Width = 256
    batch_size: Positive = 32
    phrases: NumPhrases = 0
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=30, learning_rate=1e-3, head_learning_rate=1e-3, weight_decay=0.01, patience=4
        )
    )

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        values = asdict(self)
        if not self.phrases:  # as earlier versions wrote it
            del values["phrases"]
        return values


PART = "decoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathDescription(ModelDescription):
    """The fields of ``reg-path.json``. dimension: of the encoder's vectors. supervision: what chose the right paths."""

    kind: ClassVar[str] = "reg-path"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    dimension: Dimension
    hidden: Width
    supervision: str = "weak"
    phrases: NumPhrases = 0
