"""Register ReG@Path's language model as a kind of model: how it is described, trained and opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..mined import PoolFile
from ..reg_path.config import FIGURES
from ..training.kind import POOLS, CheckpointOpenOptions, Inputs, ModelKind, TrainCommandOption, Training
from .config import PlanConfig, PlanDescription

if TYPE_CHECKING:
    from .writing import PlanModel


def _train(config: PlanConfig, inputs: Inputs[PoolFile]) -> Training:
    from .training import writer_training

    return writer_training(config, inputs)


def _open(folder: Path, opening: CheckpointOpenOptions) -> PlanModel:
    from .training import read_plan_writer
    from .writing import PlanModel

    return PlanModel(*read_plan_writer(folder, opening.language_model, opening.device))


def _about(description: PlanDescription) -> tuple[str, str]:
    return (
        "Writes relation paths that lead from a question's topic to its answers, after ReG@Path: a LoRA of rank "
        f"{description.lora.rank} on `{description.model}`, which is not in this folder; supervision: "
        f"{description.supervision}.",
        "Use it with `lodestar ask --recipe reg-path --checkpoint FOLDER`, on the graph it was trained on. The figures "
        "below are the mean log-likelihood of the right paths of dev questions, and the share of dev questions of "
        f"whose candidates, at most {description.config['num_candidates']}, a right one is the likeliest.",
    )


KIND: ModelKind[PlanConfig, PlanDescription, PoolFile, PlanModel] = ModelKind(
    name="reg-path-lm",
    title="ReG path writer",
    summary="Train a language model's LoRA to write relation paths, on the candidate pools of questions.",
    learns_from=POOLS,
    config=PlanConfig,
    description=PlanDescription,
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
    examples=("lodestar train reg-path-lm --dataset train.jsonl.gz --dev dev.jsonl.gz --out writer --model FOLDER",),
)
