"""STAR: a cross-attentive path scorer over the shortlist of a dual encoder, its options and its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from ..kinds import CheckpointOpenOptions, ModelDescription, ModelKind, TrainingOptions
from ..ranges import Positive, Range, Share, Weight

if TYPE_CHECKING:
    from ..training import TrainingFolder
    from .network import StarModel

Scorer = Literal["cross", "similarity"]
Positives = Literal["hard", "single"]
"""hard: those of hard path mining (STAR, section 4.1). single: one shortest path (without hard path mining)."""
Negatives = Literal["hard", "walks"]
"""hard: those of hard path mining, in random order. walks: random paths in the graph (without hard path mining)."""
Targets = Literal["f1", "hard"]
"""f1: every path to a right answer, weighted by the F1 of its ends (ours). hard: the positives of hard path mining."""

SPECIAL_TOKENS = ("[QSP]", "[PSP]", "[END]")
"""They mark the question and the path, and end the path."""
FIGURES = ("hits_at_1_any", "hits_at_1_expected", "f1")


@dataclass(frozen=True, slots=True)
class DualOptions:
    """How the dual encoder is trained; defaults were chosen on dev questions of FB15k-237."""

    batch_size: Positive = 48
    positives: Targets = "f1"
    any_weight: Weight = 0.1
    extend_weight: Weight = 0.3


@dataclass(frozen=True, slots=True)
class PoolTrainingOptions:
    """How a network is trained on pools: as in the paper, by hard path mining and the path-weighted contrastive loss.
    The numbers were chosen on dev questions of FB15k-237.

    pool_size: negatives per question. num_negatives: the hardest of them by the network's own scores, chosen anew each
    epoch (of random walks the first), which are trained on. num_positives: the first mined positives. w_min, w_max:
    the range of path weights. temperature: τ of the contrastive loss. shortlist: paths per question that the network
    reads on dev and in a search.
    """

    batch_size: Positive = 8
    positives: Positives = "hard"
    negatives: Negatives = "hard"
    path_weights: bool = True
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
    """scorer: `cross`, the cross-attentive scorer over the dual encoder's shortlist, or `similarity`, the dual encoder
    alone. encoder: the backbone of both, by name or path. mix: the weight of the cross-attentive scorer against the
    dual encoder (see `mix_shortlist_scores`); None to choose it on the dev questions; the paper's is 1.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StarDescription(ModelDescription):
    """The fields of ``star.json``. mix: weight of the cross-attentive scorer, see `mix_shortlist_scores`."""

    kind: ClassVar[str] = "star"
    parts: ClassVar[tuple[str, ...]] = ("dual", "cross")

    config: StarConfig
    mix: Share

    def __post_init__(self) -> None:
        if self.mix and self.scorer != "cross":
            raise ValueError(f"mix: expected 0 for the scorer {self.scorer}, found {self.mix:g}")

    @property
    def networks(self) -> tuple[str, ...]:
        return self.parts if self.scorer == "cross" else self.parts[:1]

    @property
    def scorer(self) -> Scorer:
        return self.config.scorer

    @property
    def shortlist(self) -> int:
        """Paths per question that the cross-attentive scorer reads."""
        return self.config.cross.shortlist


def _fit(config: StarConfig, train: Sequence[Any], dev: Sequence[Any], out: TrainingFolder) -> StarDescription:
    from .training import fit

    return fit(config, train, dev, out)


def _open(folder: Path, opening: CheckpointOpenOptions) -> StarModel:
    from .network import StarModel, read_checkpoint

    return StarModel(read_checkpoint(folder, opening.device, opening.dtype))


def _about(description: StarDescription) -> tuple[str, str]:
    use = "Use it with `lodestar ask --checkpoint FOLDER`, on the graph it was trained on."
    if description.any_graph:
        number = len(description.graphs)
        graphs = "one graph" if number == 1 else f"{number} graphs"
        use = (
            "Use it with `lodestar ask --checkpoint FOLDER`, on any graph: it reads the words of relations, not their "
            f"numbers. It was trained on {graphs}; how good it is on a graph that it has never seen, and how far its "
            "probabilities hold there, no figure below says: measure it there (`lodestar eval`)."
        )
    return (
        "Scores relation paths of a knowledge graph against a question, after STAR (cross-attentive path scoring with "
        f"hard path mining). Scorer: `{description.scorer}`; encoder: `{description.encoder}`; weight of the cross-"
        f"attentive scorer beside the dual encoder: {description.mix:g}, over the best {description.shortlist} paths.",
        f"{use} The figures below are of the first path, over the dev questions that have a path to an answer, which "
        "selected the weight as well.",
    )


KIND = ModelKind(
    name="star",
    title="STAR path scorer",
    learns_from="paths",
    config=StarConfig,
    description=StarDescription,
    fit=_fit,
    open=_open,
    about=_about,
    figures=FIGURES,
)
