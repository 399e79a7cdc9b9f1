"""How ReG@Path's language model learns: by the log-likelihood of right paths as text (appendix D.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from ...language.lora import adapter_weights
from ..paths.learning import Pair, PathExample, PathObjective
from .config import PlanConfig
from .likelihood import log_probabilities
from .text import PlanText


class PlanObjective(PathObjective):
    """An `Objective` of which the LoRA alone learns and is saved."""

    def __init__(
        self,
        network: nn.Module,
        train: Sequence[PathExample],
        dev: Sequence[PathExample],
        text: PlanText,
        config: PlanConfig,
    ) -> None:
        super().__init__(
            network, train, [narrowed(each, config.num_candidates) for each in dev], config.training, config.batch_size
        )
        self._text = text

    def saved(self) -> Mapping[str, Tensor]:
        """Return the LoRA."""
        return adapter_weights(self.network)

    def log_likelihoods(self, network: nn.Module, pairs: Sequence[Pair]) -> Tensor:
        """Return what the language model says, a batch at a time."""
        text, size = self._text, self.batch_size
        found = []
        for start in range(0, len(pairs), size):
            batch = pairs[start : start + size]
            prompts = [text.prompt(example.text, example.topic) for example, _ in batch]
            paths = [text.path(path) for _, path in batch]
            found.append(log_probabilities(network, prompts, paths, text.end, text.padding)[1])
        return torch.cat(found)


def narrowed(example: PathExample, most: int) -> PathExample:
    """Return an example with at most so many candidates, its right ones first."""
    order = sorted(range(len(example.paths)), key=lambda number: not example.is_right[number])[:most]
    return PathExample(
        example.question,
        example.text,
        example.topic,
        example.masked,
        tuple(example.paths[number] for number in order),
        tuple(example.is_right[number] for number in order),
    )
