"""Load a causal language model and train a LoRA on it (Hu et al. 2022).

W x + (alpha / rank) · B A x: W is frozen, A and B are trained, and B starts at 0. peft supplies the factors. A
checkpoint stores only them, and names the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..kinds import LoraOptions
from .causal_lm import WHERE, as_error

VALUES = 64
"""The number of values per weight that a fingerprint hashes."""


@dataclass(frozen=True, slots=True)
class ModelAndTokenizer:
    """A causal LM from disk or hub: a Hugging Face model and its tokenizer, padded on the right."""

    name: str
    network: Any
    tokenizer: Any


def load_language_model(
    name: str, *, device: str = "cpu", dtype: torch.dtype | None = None, fetch: bool = True
) -> ModelAndTokenizer:
    """Return a model by folder, or by name from the local cache or the hub; it reads only safetensors.

    dtype: of the weights; None: as stored. fetch: whether the hub may be asked; false for a name that comes from a
    checkpoint. Raises `CausalLMError` if the model is unavailable.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": not fetch or Path(name).is_dir()}
    with as_error(f"the language model {name!r} cannot be loaded", WHERE):
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
        network = AutoModelForCausalLM.from_pretrained(name, dtype=dtype or "auto", use_safetensors=True, **options)
        network = network.to(torch.device(device)).eval()  # type: ignore[arg-type]
    tokenizer.padding_side = "right"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return ModelAndTokenizer(name, network, tokenizer)


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
