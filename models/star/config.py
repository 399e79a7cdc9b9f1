"""Configure the training of STAR, and describe its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from ..ranges import Count, Positive, Range, Ranged, Share, Weight, check_ranges
from ..training.description import STAR, ModelDescription
from ..training.objective import TrainingOptions

Scorer = Literal["cross", "similarity"]
Positives = Literal["f1", "hard", "single"]
Negatives = Literal["reach", "hard", "walks"]

QUESTION = "[QSP]"
PATH = "[PSP]"
END = "[END]"
SPECIAL_TOKENS = (QUESTION, PATH, END)


@dataclass(frozen=True, slots=True)
class DualOptions(Ranged):
    """How the dual encoder is trained; defaults were chosen on dev questions of FB15k-237.

    Each batch adds `pair_batch` pairs of question and relation, among `pair_others` more relations, with weight
    `pair_weight`. `extend_weight` is the weight of the loss on prefixes.
    """

    batch_size: Positive = 48
    positives: Positives = "f1"
    any_weight: Weight = 0.1
    extend_weight: Weight = 0.3
    pair_batch: Count = 32
    pair_others: Count = 64
    pair_weight: Weight = 0.5


@dataclass(frozen=True, slots=True)
class PoolTrainingOptions(Ranged):
    """How a network is trained on pools: as in the paper, by hard path mining and the path-weighted contrastive loss.
    The numbers were chosen on dev questions of FB15k-237 (decisions 11 and 13).

    pool_size: negatives per question. num_negatives: the hardest of them by the network's own scores, chosen anew each
    epoch, which are trained on. num_positives: the paths with the largest shares. w_min, w_max: the range of path
    weights. temperature: τ of the contrastive loss. shortlist: paths per question that the network reads on dev and in
    a search.
    """

    batch_size: Positive = 8
    loss: Literal["listwise", "contrastive"] = "contrastive"
    positives: Positives = "hard"
    negatives: Negatives = "hard"
    any_weight: Weight = 0.1
    path_weights: bool = True
    w_min: Weight = 0.5
    w_max: float = 1.5
    temperature: Annotated[float, Range(1e-6)] = 0.05
    num_positives: Positive = 2
    num_negatives: Positive = 6
    pool_size: int = 18
    rescore: bool = True
    shortlist: Positive = 8

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.w_min > self.w_max:
            raise ValueError(f"expected 0 to {self.w_max:g} for w_min, found {self.w_min:g}")
        if self.pool_size < self.num_negatives:
            raise ValueError(f"expected at least {self.num_negatives} for pool_size, found {self.pool_size}")


@dataclass(frozen=True, slots=True)
class StarConfig(Ranged):
    """scorer: `cross`, the cross-attentive scorer over the dual encoder's shortlist, or `similarity`, the dual encoder
    alone. encoder: the backbone of both, by name or path. mix: the weight of the cross-attentive scorer against the
    dual encoder (see `mix_shortlist_scores`); None to choose it on the dev questions.
    """

    scorer: Scorer = "cross"
    encoder: str = "all-MiniLM-L6-v2"
    mix: Share | None = None
    dual: DualOptions = field(default_factory=DualOptions)
    dual_training: TrainingOptions = field(default_factory=TrainingOptions)
    cross: PoolTrainingOptions = field(default_factory=PoolTrainingOptions)
    cross_training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(epochs=3, learning_rate=1e-4, head_learning_rate=1e-3)
    )


PAPER = StarConfig(mix=1.0)
"""The paper's own setting: the cross-attentive scorer alone orders the shortlist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StarDescription(ModelDescription):
    """The fields of ``star.json``.

    mix: weight of the cross-attentive scorer, see `mix_shortlist_scores`. pairs: number of pairs of question and
    relation by source.
    """

    kind: ClassVar[str] = STAR
    parts: ClassVar[tuple[str, ...]] = ("dual", "cross")

    scorer: Scorer
    mix: Share
    shortlist: Positive
    pairs: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mix and self.scorer != "cross":
            raise ValueError(f"mix: expected 0 for the scorer {self.scorer}, found {self.mix:g}")
