"""How any model is trained, and the ranges that options are held to."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch

Precision = Literal["fp32", "bf16", "fp16"]

_DTYPES = {"bf16": "bfloat16", "fp16": "float16"}


def check_ranges(options: Any, **ranges: tuple[float, float]) -> None:
    """Raise `ValueError` for the first option outside of its range, (least, most)."""
    for name, (least, most) in ranges.items():
        value = getattr(options, name)
        if not least <= value <= most:
            limit = f"{least:g} to {most:g}" if most < float("inf") else f"at least {least:g}"
            raise ValueError(f"expected {limit} for {name}, found {value:g}")


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """How to train. learning_rate is of what was trained before, an encoder, head_learning_rate of what is new on top
    of it; both rise over the share `warmup` of all steps and then fall to zero linearly. accumulate: batches a step.
    patience: epochs without a better dev figure after which to stop. save_every_s: seconds between saved states.
    """

    epochs: int = 4
    learning_rate: float = 7e-5
    head_learning_rate: float = 1e-3
    warmup: float = 0.1
    weight_decay: float = 0.01
    max_norm: float = 1.0
    accumulate: int = 1
    patience: int = 2
    precision: Precision = "fp32"
    compile: bool = False
    seed: int = 0
    save_every_s: float = 60.0

    def __post_init__(self) -> None:
        check_ranges(
            self,
            epochs=(1, math.inf),
            learning_rate=(0.0, 1.0),
            head_learning_rate=(0.0, 1.0),
            warmup=(0.0, 0.9),
            weight_decay=(0.0, 1.0),
            max_norm=(1e-6, math.inf),
            accumulate=(1, math.inf),
            patience=(1, math.inf),
        )

    @property
    def dtype(self) -> torch.dtype | None:
        """What a network computes in where that is not the type of its weights."""
        import torch

        return getattr(torch, _DTYPES[self.precision]) if self.precision in _DTYPES else None

    def as_json(self) -> dict[str, Any]:
        """Return what the weights depend on, as plain data."""
        values = asdict(self)
        del values["save_every_s"]
        return values


ALL_LINEAR = "all-linear"


@dataclass(frozen=True, slots=True)
class LoraOptions:
    """rank: of a factor. alpha: alpha / rank is what the product counts. dropout: of what the factors are given.
    targets: the layers that have factors: all linear ones but the output, or a regular expression of their names."""

    rank: int = 8
    alpha: int = 16
    dropout: float = 0.05
    targets: str = ALL_LINEAR

    def __post_init__(self) -> None:
        check_ranges(self, rank=(1, 4_096), alpha=(1, 65_536), dropout=(0.0, 0.9))
