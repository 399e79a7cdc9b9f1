"""A checkpoint of ReG@Path's language model: ``reg-path-lm.json``, and the LoRA alone in `adapter/`."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from ...causal_lm import CausalLMError
from ...language.lora import (
    LanguageModel,
    fingerprint,
    load_language_model,
    restore_adapter,
    with_lora,
)
from ...training.checkpoint import checked, read_weights, readable
from ...training.description import CheckpointError
from .config import PART, PlanDescription


def read_plan_writer(
    folder: Path, model: str = "", device: str = "cpu"
) -> tuple[PlanDescription, LanguageModel, nn.Module]:
    """Return a checkpoint, every file of it checked, with its language model and that network with the LoRA.

    model: where the language model is, if not where it was. Raises `CheckpointError` for a damaged checkpoint, a
    language model that cannot be had, or another one.
    """
    description = checked(folder, PlanDescription, lambda _: (PART,))
    try:
        base = load_language_model(model or description.model, device=device, fetch=bool(model))
        if fingerprint(base) != description.model_fingerprint:
            raise CheckpointError(
                f"{folder}: the language model in {base.name} is not the one that this LoRA was trained on: name that "
                "one with --set reg-path.model=FOLDER, or train again"
            )
        network = with_lora(base, description.lora)
    except CausalLMError as error:
        raise CheckpointError(f"{folder}: {error}") from error
    with readable(folder):
        restore_adapter(network, read_weights(folder / PART))
    return description, base, network.eval()
