"""Configure the training of STAR, and describe its checkpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..training.description import STAR, ModelDescription
from ..training.objective import TrainingOptions, check_ranges

Scorer = Literal["cross", "similarity"]
Positives = Literal["f1", "hard", "single"]
Negatives = Literal["reach", "hard", "walks"]

QUESTION = "[QSP]"
PATH = "[PSP]"
END = "[END]"
SPECIAL_TOKENS = (QUESTION, PATH, END)


@dataclass(frozen=True, slots=True)
class DualOptions:
    """How the dual encoder is trained; defaults were chosen on dev questions of FB15k-237.

    Each batch adds `pair_batch` pairs of question and relation, among `pair_others` more relations, with weight
    `pair_weight`. `extend_weight` is the weight of the loss on prefixes. similarity: weight of the untrained
    similarity, which is added to the network's own score; the network learns the rest.
    """

    batch_size: int = 48
    positives: Positives = "f1"
    any_weight: float = 0.1
    extend_weight: float = 0.3
    pair_batch: int = 32
    pair_others: int = 64
    pair_weight: float = 0.5
    similarity: float = 0.0

    def __post_init__(self) -> None:
        check_ranges(
            self,
            batch_size=(1, math.inf),
            any_weight=(0.0, math.inf),
            extend_weight=(0.0, math.inf),
            pair_batch=(0, math.inf),
            pair_others=(0, math.inf),
            pair_weight=(0.0, math.inf),
            similarity=(0.0, 100.0),
        )


@dataclass(frozen=True, slots=True)
class PoolTrainingOptions:
    """How a network is trained on pools: as in the paper, by hard path mining and the path-weighted contrastive loss.
    The numbers were chosen on dev questions of FB15k-237 (decisions 11 and 13).

    pool_size: negatives per question. num_negatives: the hardest of them by the network's own scores, chosen anew each
    epoch, which are trained on. num_positives: the paths with the largest shares. w_min, w_max: the range of path
    weights. temperature: τ of the contrastive loss. shortlist: paths per question that the network reads on dev and in
    a search.
    """

    batch_size: int = 8
    loss: Literal["listwise", "contrastive"] = "contrastive"
    positives: Positives = "hard"
    negatives: Negatives = "hard"
    any_weight: float = 0.1
    path_weights: bool = True
    w_min: float = 0.5
    w_max: float = 1.5
    temperature: float = 0.05
    num_positives: int = 2
    num_negatives: int = 6
    pool_size: int = 18
    rescore: bool = True
    shortlist: int = 8

    def __post_init__(self) -> None:
        check_ranges(
            self,
            batch_size=(1, math.inf),
            any_weight=(0.0, math.inf),
            w_min=(0.0, self.w_max),
            temperature=(1e-6, math.inf),
            num_positives=(1, math.inf),
            num_negatives=(1, math.inf),
            pool_size=(self.num_negatives, math.inf),
            shortlist=(1, math.inf),
        )


@dataclass(frozen=True, slots=True)
class StarConfig:
    """scorer: `cross`, the cross-attentive scorer over the dual encoder's shortlist, or `similarity`, the dual encoder
    alone. encoder: the backbone of both, by name or path. mix: the weight of the cross-attentive scorer against the
    dual encoder (see `mix_scores`); None to choose it on the dev questions.
    """

    scorer: Scorer = "cross"
    encoder: str = "all-MiniLM-L6-v2"
    mix: float | None = None
    dual: DualOptions = field(default_factory=DualOptions)
    dual_training: TrainingOptions = field(default_factory=TrainingOptions)
    cross: PoolTrainingOptions = field(default_factory=PoolTrainingOptions)
    cross_training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(epochs=3, learning_rate=1e-4, head_learning_rate=1e-3)
    )

    def __post_init__(self) -> None:
        if self.mix is not None:
            check_ranges(self, mix=(0.0, 1.0))

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)


PAPER = StarConfig(mix=1.0)
"""The paper's own setting: the cross-attentive scorer alone orders the shortlist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarDescription(ModelDescription):
    """The fields of ``star.json``.

    mix: weight of the cross-attentive scorer, see `mix_scores`. pairs: number of pairs of question and relation by
    source. similarity: weight of the untrained similarity in the dual encoder's score.
    """

    kind: ClassVar[str] = STAR
    parts: ClassVar[tuple[str, ...]] = ("dual", "cross")

    scorer: Scorer
    mix: Annotated[float, Field(ge=0, le=1)]
    shortlist: Annotated[int, Field(ge=1)]
    pairs: Mapping[str, int] = field(default_factory=dict)
    similarity: Annotated[float, Field(ge=0, le=100)] = 0.0

    def __post_init__(self) -> None:
        if self.mix and self.scorer != "cross":
            raise ValueError(f"mix: expected 0 for the scorer {self.scorer}, found {self.mix:g}")
