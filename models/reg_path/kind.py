"""Register ReG@Path as a kind of model: its options, its description, and how it is trained and opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..mined import PoolFile
from ..ranges import Positive, Ranged, check_ranges
from ..training.kind import (
    POOLS,
    CheckpointOpenOptions,
    Inputs,
    LoraOptions,
    ModelDescription,
    ModelKind,
    TrainCommandOption,
    Training,
    TrainingOptions,
)

if TYPE_CHECKING:
    from .writing import PathModel

FIGURES = ("log_likelihood", "first_right")
"""Figures of a checkpoint: the mean log-likelihood of a right path, and the share of dev questions whose likeliest
candidate (of the chains that leave its topics) is right.
"""


@dataclass(frozen=True, slots=True)
class PathConfig(Ranged):
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
class PathDescription(ModelDescription):
    """The fields of ``reg-path.json``.

    model: name or folder of the language model at training. model_fingerprint: of its weights. supervision: what chose
    the right paths.
    """

    kind: ClassVar[str] = "reg-path"
    parts: ClassVar[tuple[str, ...]] = (PART,)

    model: str
    model_fingerprint: str
    lora: LoraOptions
    supervision: str = "weak"


def _train(config: PathConfig, inputs: Inputs[PoolFile]) -> Training:
    from .writing import path_training

    return path_training(config, inputs)


def _open(folder: Path, opening: CheckpointOpenOptions) -> PathModel:
    from .writing import PathModel, read_path_writer

    return PathModel(*read_path_writer(folder, opening.language_model, opening.device))


def _about(description: PathDescription) -> tuple[str, str]:
    return (
        "Writes relation paths that lead from a question's topic to its answers, after ReG@Path: a LoRA of rank "
        f"{description.lora.rank} on `{description.model}`, which is not in this folder; supervision: "
        f"{description.supervision}.",
        "Use it with `lodestar ask --recipe reg-path --checkpoint FOLDER`, on the graph it was trained on. The figures "
        "below are the mean log-likelihood of the right paths of dev questions, and the share of dev questions of "
        f"whose candidates, at most {description.config['num_candidates']}, a right one is the likeliest.",
    )


KIND: ModelKind[PathConfig, PathDescription, PoolFile, PathModel] = ModelKind(
    name="reg-path",
    title="ReG path writer",
    summary="Train a language model's LoRA to write relation paths, on the candidate pools of questions.",
    learns_from=POOLS,
    config=PathConfig,
    description=PathDescription,
    train=_train,
    open=_open,
    about=_about,
    figures=FIGURES,
    options=(
        TrainCommandOption(
            "--model", "Causal language model to train a LoRA on, by Hugging Face name or folder.", "model"
        ),
        TrainCommandOption("--lora-rank", "Rank of the LoRA (default: 8).", "lora.rank", int),
    ),
    examples=(
        "lodestar train reg-path --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg-path --model FOLDER",
        "lodestar train reg-path --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg-path --model FOLDER "
        "--lora-rank 16",
    ),
)
