"""Train a LoRA on a causal language model (Hu et al. 2022).

W x + (alpha / rank) · B A x: W is frozen, A and B are trained, and B starts at 0. peft supplies the factors. A
checkpoint stores only them, and names the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..kinds import LoraOptions
from .causal_lm import ModelAndTokenizer, as_error

VALUES = 64
"""The number of values per weight that a fingerprint hashes."""


def fingerprint(model: ModelAndTokenizer) -> str:
    """Return a digest that identifies a model's weights: parameter names, shapes and some of the values.

    Call it before adding a LoRA.
    """
    digest = hashlib.sha256()
    for name, parameter in sorted(model.network.named_parameters()):
        values = parameter.detach().flatten()
        some = values[:: max(1, len(values) // VALUES)][:VALUES]
        digest.update(f"{name} {tuple(parameter.shape)} ".encode())
        digest.update(some.float().cpu().numpy().tobytes())
    return digest.hexdigest()


def add_lora(model: ModelAndTokenizer, options: LoraOptions) -> nn.Module:
    """Return the network with new trainable LoRA factors; its output is unchanged until they are trained.

    Initial values follow torch's seed. Raises `CausalLMError` without peft, or if no layer matches `targets`.
    """
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules=options.targets,
        task_type="CAUSAL_LM",
    )
    with as_error(f"{model.name!r} cannot have a LoRA on {options.targets!r}"):
        network: nn.Module = get_peft_model(model.network, config)
    return network


def adapter_weights(network: nn.Module) -> dict[str, Tensor]:
    """Return the trainable weights of a network from `add_lora`, not copies, by name."""
    return {name: parameter.data for name, parameter in network.named_parameters() if parameter.requires_grad}


def restore_adapter(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy the values of `adapter_weights` into the factors; raise `ValueError` if model or rank differ."""
    own = adapter_weights(network)
    if {name: each.shape for name, each in own.items()} != {name: each.shape for name, each in weights.items()}:
        raise ValueError("the adapter belongs to another language model or another rank")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(weights[name])
