"""The seam between what is learned and the loop that learns it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor, nn

    from .options import TrainingOptions

Figures = Mapping[str, float]


class NothingToLearnError(Exception):
    """No question of a set has what a training learns from, or chooses by; the message says which."""


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """Parameters that learn at one rate, the highest they are given."""

    parameters: Sequence[Tensor]
    learning_rate: float


class Objective(Protocol):
    """A network with the batches it learns from. What a batch holds depends on the seed, the epoch, the step and
    `state` alone, so that training can be taken up anywhere."""

    @property
    def network(self) -> nn.Module:
        """What is trained."""
        ...

    def groups(self) -> Sequence[ParameterGroup]:
        """Return the parameters that learn, in the same order each time."""
        ...

    def saved(self) -> Mapping[str, Tensor]:
        """Return the weights that a training changes, themselves: what a state keeps and a checkpoint is made of."""
        ...

    @property
    def steps_per_epoch(self) -> int:
        """Batches of one epoch."""
        ...

    def begin(self, epoch: int) -> None:
        """Prepare an epoch, by the network as it is."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Return what `begin` made of the network, so that an epoch can be taken up in its middle."""
        ...

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Prepare an epoch as `begin` did when it returned this state."""
        ...

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of the epoch, a scalar.

        `network` is the objective's own, perhaps wrapped; `shard` is (rank, number of ranks): the part to take.
        """
        ...

    def evaluate(self) -> Figures:
        """Return the figures on the dev examples; ``choose_by`` is the one to choose by, higher is better."""
        ...


def encoder_and_heads(network: nn.Module, options: TrainingOptions) -> list[ParameterGroup]:
    """Return the parameters of a network's `encoder`, and all others of it, each with the rate that options say."""
    inside = {id(parameter) for parameter in network.get_submodule("encoder").parameters()}
    parts = [[p for p in network.parameters() if (id(p) in inside) is within] for within in (True, False)]
    rates = (options.learning_rate, options.head_learning_rate)
    return [ParameterGroup(part, rate) for part, rate in zip(parts, rates, strict=True)]


def learned(network: nn.Module) -> dict[str, Tensor]:
    """Return a network's weights but those that are frozen: of a LoRA its deltas alone."""
    frozen = {name for name, parameter in network.named_parameters() if not parameter.requires_grad}
    return {name: tensor for name, tensor in network.state_dict().items() if name not in frozen}
