"""STAR: a cross-attentive path scorer over the shortlist of a dual encoder, its options and its checkpoint."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from .. import Positive, Range, Share, Weight
from ..kinds import ModelDescription, ModelKind, TrainingOptions

SPECIAL_TOKENS = ("[QSP]", "[PSP]", "[END]")
"""They mark the question and the path, and end the path."""
FIGURES = ("hits_at_1_any", "hits_at_1_expected", "f1")


@dataclass(frozen=True, slots=True)
class DualTrainingOptions:
    """How the dual encoder is trained; defaults were chosen on dev questions of FB15k-237."""

    batch_size: Positive = 48
    any_weight: Weight = 0.1
    extend_weight: Weight = 0.3


@dataclass(frozen=True, slots=True)
class PoolTrainingOptions:
    """How a network is trained on pools: as in the paper, by hard path mining and the path-weighted contrastive loss.
    The numbers were chosen on dev questions of FB15k-237.

    pool_size: mined negatives of a question. num_negatives: the hardest of them by the network's own scores, chosen
    anew each epoch, which are trained on. num_positives: the first mined positives. w_min, w_max: the range of path
    weights; equal ones weigh nothing. temperature: τ of the contrastive loss. shortlist: paths of a question that the
    network reads on dev and in a search.
    """

    batch_size: Positive = 8
    w_min: Weight = 0.5
    w_max: Weight = 1.5
    temperature: Annotated[float, Range(1e-6)] = 0.05
    num_positives: Positive = 2
    num_negatives: Positive = 6
    pool_size: Positive = 18
    shortlist: Positive = 8

    def __post_init__(self) -> None:
        if self.w_min > self.w_max:
            raise ValueError(f"expected 0 to {self.w_max:g} for w_min, found {self.w_min:g}")
        if self.pool_size < self.num_negatives:
            raise ValueError(f"expected at least {self.num_negatives} for pool_size, found {self.pool_size}")


@dataclass(frozen=True, slots=True)
class StarConfig:
    """encoder: the backbone of both networks, by name or path. pretrained: the cross-attentive scorer starts from the
    shipped one, if the encoder is the one that it belongs to. mix: the weight of the cross-attentive scorer against the
    dual encoder (see `mix_shortlist_scores`); None to choose it on the dev questions; the paper's is 1; with 0 the
    dual encoder alone is trained.
    """

    encoder: str = "all-MiniLM-L6-v2+relations"
    pretrained: bool = True
    mix: Share | None = None
    dual: DualTrainingOptions = field(default_factory=DualTrainingOptions)
    dual_training: TrainingOptions = field(default_factory=TrainingOptions)
    cross: PoolTrainingOptions = field(default_factory=PoolTrainingOptions)
    cross_training: TrainingOptions = field(
        default_factory=lambda: TrainingOptions(epochs=3, learning_rate=1e-4, head_learning_rate=1e-3)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StarDescription(ModelDescription):
    """The fields of ``star.json``. mix: weight of the cross-attentive scorer, see `mix_shortlist_scores`."""

    kind: ClassVar[str] = "star"
    parts: ClassVar[tuple[str, ...]] = ("dual", "cross")

    config: StarConfig
    mix: Share

    @property
    def networks(self) -> tuple[str, ...]:
        return self.parts[:1] if self.config.mix == 0 else self.parts


KIND = ModelKind(
    title="STAR path scorer",
    learns_from="paths",
    config=StarConfig,
    description=StarDescription,
    code="lodestar.models.star.training",
    about="Scores relation paths against a question: a dual encoder shortlists, a cross-attentive scorer reads the "
    "best paths (STAR). The figures are of the first path, over dev questions with a path to an answer.",
    figures=FIGURES,
)
