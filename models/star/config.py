"""Configure the training of STAR, and describe its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from ..ranges import Positive, Range, Ranged, Share, Weight, check_ranges
from ..training.kind import PATHS, CheckpointOpenOptions, Inputs, ModelDescription, ModelKind, Training, TrainingOptions
from .mined import MinedFile

if TYPE_CHECKING:
    from .networks import StarModel


Scorer = Literal["cross", "similarity"]
Positives = Literal["hard", "single"]
"""hard: those of hard path mining (STAR, section 4.1). single: one shortest path (without hard path mining)."""
Negatives = Literal["hard", "walks"]
"""hard: those of hard path mining, in random order. walks: random paths in the graph (without hard path mining)."""
Targets = Literal["f1", "hard"]
"""f1: every path to a right answer, weighted by the F1 of its ends (ours). hard: the positives of hard path mining."""

QUESTION = "[QSP]"
PATH = "[PSP]"
END = "[END]"
SPECIAL_TOKENS = (QUESTION, PATH, END)


@dataclass(frozen=True, slots=True)
class DualOptions(Ranged):
    """How the dual encoder is trained; defaults were chosen on dev questions of FB15k-237."""

    batch_size: Positive = 48
    positives: Targets = "f1"
    any_weight: Weight = 0.1
    extend_weight: Weight = 0.3


@dataclass(frozen=True, slots=True)
class PoolTrainingOptions(Ranged):
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
    w_max: float = 1.5
    temperature: Annotated[float, Range(1e-6)] = 0.05
    num_positives: Positive = 2
    num_negatives: Positive = 6
    pool_size: int = 18
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

    mix: weight of the cross-attentive scorer, see `mix_shortlist_scores`.
    """

    kind: ClassVar[str] = "star"
    parts: ClassVar[tuple[str, ...]] = ("dual", "cross")

    scorer: Scorer
    mix: Share
    shortlist: Positive

    def __post_init__(self) -> None:
        if self.mix and self.scorer != "cross":
            raise ValueError(f"mix: expected 0 for the scorer {self.scorer}, found {self.mix:g}")


def _train(config: StarConfig, inputs: Inputs[MinedFile]) -> Training:
    from .training import star_training

    return star_training(config, inputs)


def _open(folder: Path, opening: CheckpointOpenOptions) -> StarModel:
    from .networks import StarModel, read_checkpoint

    return StarModel(read_checkpoint(folder, opening.device, opening.dtype))


def _about(description: StarDescription) -> tuple[str, str]:
    return (
        "Scores relation paths of a knowledge graph against a question, after STAR (cross-attentive path scoring with "
        f"hard path mining). Scorer: `{description.scorer}`; encoder: `{description.encoder}`; weight of the cross-"
        f"attentive scorer beside the dual encoder: {description.mix:g}, over the best {description.shortlist} paths.",
        f"{_use(description)} The figures below are of the first path, over the dev questions that have a path to an "
        "answer, which selected the weight as well.",
    )


def _use(description: StarDescription) -> str:
    """Return which graphs the checkpoint is for, and what its figures do not cover."""
    use = "Use it with `lodestar ask --checkpoint FOLDER`, "
    if not description.any_graph:
        return f"{use}on the graph it was trained on."
    number = len(description.graphs)
    graphs = "one graph" if number == 1 else f"{number} graphs"
    return (
        f"{use}on any graph: it reads the words of relations, not their numbers. It was trained on "
        f"{graphs}; how good it is on a graph that it has never seen, and how far its probabilities hold there, no "
        "figure below says: measure it on questions about that graph (`lodestar eval`)."
    )


KIND: ModelKind[StarConfig, StarDescription, MinedFile, StarModel] = ModelKind(
    name="star",
    title="STAR path scorer",
    summary="Train STAR's path scorer, and the dual encoder that shortlists for it.",
    learns_from=PATHS,
    config=StarConfig,
    description=StarDescription,
    train=_train,
    open=_open,
    about=_about,
    figures=("hits_at_1_any", "hits_at_1_expected", "f1"),
    presets={"best": StarConfig, "paper": lambda: PAPER},
    examples=(
        "lodestar train star --dataset train.jsonl.gz --dev dev.jsonl.gz --out star",
        "lodestar train star --any-graph --dataset one.jsonl.gz --dataset two.jsonl.gz --dev dev.jsonl.gz --out star",
        "lodestar train star --dataset mined.jsonl.gz --dev mined-dev.jsonl.gz --out star --preset paper --seed 1",
        "torchrun --nproc-per-node 4 -m lodestar train star --dataset … --dev … --out star",
    ),
)
