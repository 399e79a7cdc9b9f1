"""Train a LoRA on a language model that writes relation paths, ReG@Path as in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch

from ...language.lora import adapter_weights, fingerprint, load_language_model, with_lora
from ...mined.pool import Pool, supervision_of
from ...training.calibration import fitted
from ...training.checkpoint import write_weights
from ...training.kind import Inputs, Outcome, Phase, Training
from ...training.loop import Trained
from ..paths.learning import examples_of
from ..paths.vocabulary import Vocabulary
from .config import PART, PlanConfig
from .learning import PlanObjective
from .text import PlanText

PHASE = "path writer"


def writer_training(config: PlanConfig, inputs: Inputs[Pool]) -> Training:
    """Return the training of the LoRA. `inputs.beside`: the `Vocabulary` of the graph's relations.

    Its objective raises `CausalLMError` for a language model that cannot be loaded.
    """
    vocabulary: Vocabulary = inputs.beside
    learned: list[tuple[PlanObjective, str]] = []

    def objective() -> PlanObjective:
        model = load_language_model(config.model, device=inputs.device)
        known = fingerprint(model)
        text = PlanText(model.tokenizer, vocabulary)
        train, dev = (examples_of(pools, vocabulary) for pools in (inputs.train, inputs.dev))
        torch.manual_seed(config.training.seed)
        learned.append((PlanObjective(with_lora(model, config.lora), train, dev, text, config), known))
        return learned[0][0]

    def outcome(_trained: Mapping[str, Trained]) -> Outcome:
        objective, known = learned[0]
        fields = {"model": config.model, "model_fingerprint": known, "lora": config.lora}
        parts = {PART: partial(write_weights, adapter_weights(objective.network))}
        return Outcome(parts, fitted(objective.calibration_pairs()), fields)

    depends_on = {key: value for key, value in config.as_json().items() if key != "training"}
    return Training(
        [Phase(PHASE, PART, config.training, depends_on, objective)],
        outcome,
        identity={"supervision": supervision_of(inputs.train)},
    )
