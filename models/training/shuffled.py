"""What most objectives have in common: examples in an order that is drawn anew for each epoch, a batch a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from torch import Tensor, nn

from .objective import ParameterGroup
from .options import TrainingOptions

NetworkT = TypeVar("NetworkT", bound=nn.Module)
ExampleT = TypeVar("ExampleT")


class Shuffled(Generic[NetworkT, ExampleT]):
    """An `Objective` but for its `loss` and `evaluate`. All that learns does so at the head's rate."""

    def __init__(
        self, network: NetworkT, examples: Sequence[ExampleT], training: TrainingOptions, batch_size: int
    ) -> None:
        self.network = network
        self.training = training
        self.batch_size = batch_size
        self.epoch = 0
        self._examples = examples
        self._order = list(range(len(examples)))

    def groups(self) -> list[ParameterGroup]:
        """Return the parameters that learn."""
        learning = [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        return [ParameterGroup(learning, self.training.head_learning_rate)]

    def saved(self) -> Mapping[str, Tensor]:
        """Return all weights."""
        return self.network.state_dict()

    @property
    def steps_per_epoch(self) -> int:
        """Batches of examples."""
        return -(-len(self._examples) // self.batch_size)

    def begin(self, epoch: int) -> None:
        """Order the examples anew."""
        self.epoch = epoch
        rng = np.random.default_rng((self.training.seed, epoch))
        self._order = rng.permutation(len(self._examples)).tolist()

    def state(self) -> dict[str, Tensor]:
        """Return nothing: an epoch depends on its number alone."""
        return {}

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Order the examples as `begin` did."""
        del state
        self.begin(epoch)

    def batch(self, step: int, shard: tuple[int, int]) -> list[ExampleT]:
        """Return the examples of a step, or this rank's part of them, at least one. shard: (rank, number of ranks)."""
        batch = self._order[step * self.batch_size : (step + 1) * self.batch_size]
        return [self._examples[each] for each in batch[shard[0] :: shard[1]] or batch[:1]]
