"""The seam between what is learned and the loop that learns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor, nn

Figures = Mapping[str, float]


class Objective(Protocol):
    """A network with the batches it learns from. What a batch holds depends on the seed, the epoch, the step and
    `state` alone, so that training can be taken up anywhere."""

    @property
    def network(self) -> nn.Module:
        """What is trained."""
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
