"""Configure the training of ReG@Path's language model, and describe its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ..ranges import Positive, Ranged, check_ranges
from ..training.description import ModelDescription
from ..training.objective import LoraOptions, TrainingOptions


@dataclass(frozen=True, slots=True)
class PlanConfig(Ranged):
    """model: a causal LM of Hugging Face, by name or folder. batch_size: paths per step. num_candidates: chains scored
    per dev question, including its right ones.

    Eight epochs are the paper's (appendix E). The paper does not give the rate; this one is usual for LoRA.
    """

    model: str = ""
    lora: LoraOptions = field(default_factory=LoraOptions)
    batch_size: Positive = 8
    num_candidates: Positive = 20
    training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(
            epochs=8, learning_rate=2e-4, head_learning_rate=2e-4, weight_decay=0.0, patience=3
        )
    )

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("expected the name or folder of a language model, found none: give --model")
        check_ranges(self)


PART = "adapter"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDescription(ModelDescription):
    """The fields of ``reg-path-lm.json``.

    model: name or folder of the language model at training. model_fingerprint: of its weights. supervision: what chose
    the right paths.
    """

    kind: ClassVar[str] = "reg-path-lm"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    model: str
    model_fingerprint: str
    lora: LoraOptions
    supervision: str = "weak"
