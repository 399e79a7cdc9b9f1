"""Train the LoRA that writes relation paths, and read its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from ..language.causal_lm import CausalLMError
from ..language.lora import (
    ModelAndTokenizer,
    adapter_weights,
    add_lora,
    fingerprint,
    load_language_model,
    restore_adapter,
)
from ..mined import PoolFile, supervision_of
from ..reg_path.network import RelationTokens
from ..reg_path.training import Pair, PathExample, PathObjective, examples_of
from ..training.checkpoint import check_checkpoint, read_weights, translate_read_errors, write_weights
from ..training.description import BadCheckpointError
from ..training.kind import Inputs, Outcome, Phase, Training
from ..training.loop import TrainingResult
from ..training.trainer import fit_calibration
from .config import PART, PlanConfig, PlanDescription
from .writing import PlanTokenizer, log_probabilities


def read_plan_writer(
    folder: Path, model: str = "", device: str = "cpu"
) -> tuple[PlanDescription, ModelAndTokenizer, nn.Module]:
    """Return a checkpoint after checking every file, with its language model and the network with the LoRA.

    model: where the language model is, if it has moved. Raises `BadCheckpointError` for a damaged checkpoint, or a
    language model that is unavailable or another one.
    """
    description = check_checkpoint(folder, PlanDescription, lambda _: (PART,))
    try:
        base = load_language_model(model or description.model, device=device, fetch=bool(model))
        if fingerprint(base) != description.model_fingerprint:
            raise BadCheckpointError(
                f"{folder}: the language model in {base.name} is not the one that this LoRA was trained on: name that "
                "one with --set reg-path.model=FOLDER, or train again"
            )
        network = add_lora(base, description.lora)
    except CausalLMError as error:
        raise BadCheckpointError(f"{folder}: {error}") from error
    with translate_read_errors(folder):
        restore_adapter(network, read_weights(folder / PART))
    return description, base, network.eval()


class PlanObjective(PathObjective):
    """An `Objective` that trains and saves only the LoRA."""

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[PathExample],
        dev: Sequence[PathExample],
        text: PlanTokenizer,
        config: PlanConfig,
    ) -> None:
        super().__init__(
            network,
            train,
            [limit_candidates(each, config.num_candidates) for each in dev],
            config.training,
            config.batch_size,
        )
        self._text = text

    def get_weights(self) -> Mapping[str, Tensor]:
        """Return the LoRA's weights."""
        return adapter_weights(self.network)

    def log_likelihoods(self, network: nn.Module, pairs: Sequence[Pair]) -> Tensor:
        """Return the language model's log-likelihoods, batch by batch."""
        text, size = self._text, self.batch_size
        found = []
        for start in range(0, len(pairs), size):
            batch = pairs[start : start + size]
            prompts = [text.prompt(example.text, example.topic) for example, _ in batch]
            paths = [text.path(path) for _, path in batch]
            found.append(log_probabilities(network, prompts, paths, text.end, text.padding)[1])
        return torch.cat(found)


def limit_candidates(example: PathExample, most: int) -> PathExample:
    """Return an example with at most this many candidates, its right ones first."""
    order = sorted(range(len(example.paths)), key=lambda number: not example.is_right[number])[:most]
    return PathExample(
        example.question,
        example.text,
        example.topic,
        example.masked,
        tuple(example.paths[number] for number in order),
        tuple(example.is_right[number] for number in order),
    )


PHASE = "path writer"


def writer_training(config: PlanConfig, inputs: Inputs[PoolFile]) -> Training:
    """Return the training of the LoRA. `inputs.beside`: the `RelationTokens` of the graph's relations.

    Its objective raises `CausalLMError` if the language model cannot be loaded.
    """
    vocabulary: RelationTokens = inputs.beside
    learned: list[tuple[PlanObjective, str]] = []

    def objective() -> PlanObjective:
        model = load_language_model(config.model, device=inputs.device)
        known = fingerprint(model)
        text = PlanTokenizer(model.tokenizer, vocabulary)
        train, dev = (examples_of(pools, vocabulary) for pools in (inputs.train, inputs.dev))
        learned.append((PlanObjective(add_lora(model, config.lora), train, dev, text, config), known))
        return learned[0][0]

    def outcome(_trained: Mapping[str, TrainingResult]) -> Outcome:
        objective, known = learned[0]
        fields = {"model": config.model, "model_fingerprint": known, "lora": config.lora}
        parts = {PART: partial(write_weights, adapter_weights(objective.network))}
        return Outcome(parts, fit_calibration(objective.calibration_pairs()), fields)

    depends_on = {key: value for key, value in config.as_json().items() if key != "training"}
    return Training(
        [Phase(PHASE, PART, config.training, depends_on, objective)],
        outcome,
        identity={"supervision": supervision_of(inputs.train)},
    )
