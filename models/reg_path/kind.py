"""Register ReG@Path's small decoder as a kind of model: how it is described, trained and opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..mined import PoolFile
from ..training.kind import POOLS, CheckpointOpenOptions, Inputs, ModelKind, Training
from .config import FIGURES, PathConfig, PathDescription

if TYPE_CHECKING:
    from .network import PathModel


def _train(config: PathConfig, inputs: Inputs[PoolFile]) -> Training:
    from .training import decoder_training

    return decoder_training(config, inputs)


def _open(folder: Path, opening: CheckpointOpenOptions) -> PathModel:
    from .network import PathModel
    from .training import read_path_decoder

    description, network = read_path_decoder(folder, opening.device)
    return PathModel(description, network, opening.vectors_of(description))


def _about(description: PathDescription) -> tuple[str, str]:
    return (
        "Writes relation paths that lead from a question's topic to its answers, after ReG@Path, with a small decoder "
        f"in place of a language model. Encoder: `{description.encoder}`, not trained; supervision: "
        f"{description.supervision}.",
        "Use it with `lodestar ask --recipe reg-path --checkpoint FOLDER`, on the graph it was trained on. The figures "
        "below are the mean log-likelihood of the right paths of dev questions, and the share of dev questions of "
        "whose candidates a right one is the likeliest.",
    )


KIND: ModelKind[PathConfig, PathDescription, PoolFile, PathModel] = ModelKind(
    name="reg-path",
    title="ReG path decoder",
    summary="Train ReG's relation path generator on the candidate pools of questions: a small decoder, or with "
    "--model a LoRA on a language model.",
    learns_from=POOLS,
    config=PathConfig,
    description=PathDescription,
    train=_train,
    open=_open,
    about=_about,
    figures=FIGURES,
    with_option={"--model": "reg-path-lm", "--lora-rank": "reg-path-lm"},
    examples=(
        "lodestar train reg-path --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg-path",
        "lodestar train reg-path --dataset train.jsonl.gz --dev dev.jsonl.gz --out reg-path --model FOLDER "
        "--lora-rank 16",
    ),
)
