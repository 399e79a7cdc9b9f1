"""Define training objectives and their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from ..ranges import Positive, Range, Ranged, Share

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


Precision = Literal["fp32", "bf16", "fp16"]

_DTYPES = {"bf16": "bfloat16", "fp16": "float16"}


@dataclass(frozen=True, slots=True)
class TrainingOptions(Ranged):
    """How to train. learning_rate: of pretrained parameters, an encoder's; head_learning_rate: of new ones. Both rise
    over the share `warmup` of all steps and then fall linearly to zero. accumulate: batches per step. patience: epochs
    without a better dev figure before stopping. save_every_s: seconds between saved states.
    """

    epochs: Positive = 4
    learning_rate: Share = 7e-5
    head_learning_rate: Share = 1e-3
    warmup: Annotated[float, Range(0, 0.9)] = 0.1
    weight_decay: Share = 0.01
    max_norm: Annotated[float, Range(1e-6)] = 1.0
    accumulate: Positive = 1
    patience: Positive = 2
    precision: Precision = "fp32"
    compile: bool = False
    seed: int = 0
    save_every_s: float = 60.0

    @property
    def dtype(self) -> torch.dtype | None:
        """The autocast type; None for the type of the network's weights."""
        import torch

        return getattr(torch, _DTYPES[self.precision]) if self.precision in _DTYPES else None

    def as_json(self) -> dict[str, Any]:
        """Return the options that the weights depend on, as plain data."""
        values = Ranged.as_json(self)
        del values["save_every_s"]
        return values


ALL_LINEAR = "all-linear"


@dataclass(frozen=True, slots=True)
class LoraOptions(Ranged):
    """rank: of a factor. alpha: the product is scaled by alpha / rank. dropout: on the input of the factors. targets:
    the layers with factors: all linear ones but the output, or a regular expression of their names.
    """

    rank: Annotated[int, Range(1, 4_096)] = 8
    alpha: Annotated[int, Range(1, 65_536)] = 16
    dropout: Annotated[float, Range(0, 0.9)] = 0.05
    targets: str = ALL_LINEAR


Figures = Mapping[str, float]


class NothingToLearnError(Exception):
    """A set has no question to train or select on; the message says which."""


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """Parameters with a common peak learning rate."""

    parameters: Sequence[Tensor]
    learning_rate: float


class Objective(Protocol):
    """A network with its training batches. A batch depends only on the seed, the epoch, the step and `state`, so that
    training can resume anywhere.
    """

    @property
    def network(self) -> nn.Module:
        """The network in training."""
        ...

    def groups(self) -> Sequence[ParameterGroup]:
        """Return the trainable parameters, in the same order each time."""
        ...

    def get_weights(self) -> Mapping[str, Tensor]:
        """Return the trained weights, not copies, for states and checkpoints."""
        ...

    @property
    def steps_per_epoch(self) -> int:
        """Batches per epoch."""
        ...

    def begin(self, epoch: int) -> None:
        """Prepare an epoch with the current network."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Return what `begin` computed from the network, so that an epoch can resume midway."""
        ...

    def resume(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        """Prepare an epoch from a stored state, as `begin` did."""
        ...

    def loss(self, network: nn.Module, step: int, shard: tuple[int, int]) -> Tensor:
        """Return the mean loss of a batch of the epoch, a scalar.

        `network` is the objective's own, perhaps wrapped; `shard` is (rank, number of ranks): the part to take.
        """
        ...

    def evaluate(self) -> Figures:
        """Return the figures on the dev examples; the epoch with the highest ``selection_metric`` is kept."""
        ...


def encoder_and_heads(network: nn.Module, options: TrainingOptions) -> list[ParameterGroup]:
    """Return the parameters of a network's `encoder`, and all others, each with its learning rate."""
    inside = {id(parameter) for parameter in network.get_submodule("encoder").parameters()}
    parts = [[p for p in network.parameters() if (id(p) in inside) is within] for within in (True, False)]
    rates = (options.learning_rate, options.head_learning_rate)
    return [ParameterGroup(part, rate) for part, rate in zip(parts, rates, strict=True)]


def select_trained_weights(network: nn.Module) -> dict[str, Tensor]:
    """Return a network's weights except frozen ones: of a LoRA only its factors."""
    frozen = {name for name, parameter in network.named_parameters() if not parameter.requires_grad}
    return {name: tensor for name, tensor in network.state_dict().items() if name not in frozen}
