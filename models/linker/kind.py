"""Register the trained linker as a kind of model: how it is described, trained and opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..training.kind import LINKS, CheckpointOpenOptions, Inputs, ModelKind, Training
from .config import FIGURES, LinkedCandidates, LinkerConfig, LinkerDescription

if TYPE_CHECKING:
    from .training import CandidateScorer


def _train(config: LinkerConfig, inputs: Inputs[LinkedCandidates]) -> Training:
    from .training import linker_training

    return linker_training(config, inputs)


def _open(folder: Path, _opening: CheckpointOpenOptions) -> tuple[LinkerDescription, CandidateScorer]:
    from .training import read_linker

    return read_linker(folder)


def _about(description: LinkerDescription) -> tuple[str, str]:
    return (
        "Estimates the probability that a question is about a candidate entity: a network with one hidden layer over "
        f"{len(description.features)} features of the mention, the entity, its rivals and the relations at it. Encoder "
        f"of relations and questions: `{description.encoder}`, not trained.",
        "Use it with `--set linker.kind=trained --set linker.checkpoint=FOLDER`. The figures below are the mean share "
        "of a dev question's topics among its first candidates, and the cross-entropy of a candidate.",
    )


KIND: ModelKind[LinkerConfig, LinkerDescription, LinkedCandidates, tuple[LinkerDescription, CandidateScorer]] = (
    ModelKind(
        name="linker",
        title="Entity linker",
        summary="Train the entity linker on questions with topics.",
        learns_from=LINKS,
        config=LinkerConfig,
        description=LinkerDescription,
        train=_train,
        open=_open,
        about=_about,
        figures=FIGURES,
        examples=(
            "lodestar train linker --dataset questions-train.jsonl.gz --dev questions-dev.jsonl.gz --out linker",
            'lodestar ask --set linker.kind=trained --set linker.checkpoint=linker "Where was Lincoln born?"',
        ),
    )
)
