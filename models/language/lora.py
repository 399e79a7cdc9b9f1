"""A causal language model that learns by LoRA (Hu et al. 2022): loaded, given its factors, and these kept apart.

W x + (alpha / rank) · B A x: W is frozen, A and B learn, and B is 0 at first. The factors are peft's; a checkpoint has
them alone, the model is named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..causal_lm import WHERE, CausalLMError
from ..one_line import one_line
from ..training.options import LoraOptions

VALUES = 64
"""Of each weight, that a fingerprint looks at."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A causal LM as it is on disk or on the hub: a Hugging Face model and its tokenizer, padded on the right."""

    name: str
    network: Any
    tokenizer: Any


def load_language_model(
    name: str, *, device: str = "cpu", dtype: torch.dtype | None = None, fetch: bool = True
) -> LanguageModel:
    """Return the model in a folder, or of a name in the local cache or on the hub; its weights only as safetensors.

    dtype: of the weights, as they are stored where it is not given. fetch: whether the hub may be asked for what is not
    here; not of a name that only a checkpoint gives. Raises `CausalLMError` where it cannot be had.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": not fetch or Path(name).is_dir()}
    with _as_error(f"the language model {name!r} cannot be loaded", WHERE):
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
        network = AutoModelForCausalLM.from_pretrained(name, dtype=dtype or "auto", use_safetensors=True, **options)
        network = network.to(torch.device(device)).eval()  # type: ignore[arg-type]
    tokenizer.padding_side = "right"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return LanguageModel(name, network, tokenizer)


def fingerprint(model: LanguageModel) -> str:
    """Return what tells the weights of a model from others: a digest of their names, shapes and some of the values.

    Asked before the model is given factors.
    """
    digest = hashlib.sha256()
    for name, parameter in sorted(model.network.named_parameters()):
        values = parameter.detach().flatten()
        some = values[:: max(1, len(values) // VALUES)][:VALUES]
        digest.update(f"{name} {tuple(parameter.shape)} ".encode())
        digest.update(some.float().cpu().numpy().tobytes())
    return digest.hexdigest()


def with_lora(model: LanguageModel, options: LoraOptions) -> nn.Module:
    """Return the network with new factors, which alone learn; what it computes is the same until they have.

    What is left to chance follows torch's seed. Raises `CausalLMError` where no layer is of `targets`.
    """
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,
        lora_dropout=options.dropout,
        target_modules=options.targets,
        task_type="CAUSAL_LM",
    )
    with _as_error(f"{model.name!r} cannot have a LoRA on {options.targets!r}"):
        network: nn.Module = get_peft_model(model.network, config)
    return network


def adapter_weights(network: nn.Module) -> dict[str, Tensor]:
    """Return what learns in a network that `with_lora` returned, themselves, by name."""
    return {name: parameter.data for name, parameter in network.named_parameters() if parameter.requires_grad}


def restore_adapter(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give the factors the values of `adapter_weights`; raise `ValueError` where they are of another model or rank."""
    own = adapter_weights(network)
    if {name: each.shape for name, each in own.items()} != {name: each.shape for name, each in weights.items()}:
        raise ValueError("the adapter is of another language model, or of another rank")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(weights[name])


@contextmanager
def _as_error(what: str, advice: str = "") -> Iterator[None]:
    """Raise `CausalLMError` in one line for what a model's files, Transformers or peft may raise."""
    try:
        yield
    except Exception as error:
        raise CausalLMError(f"{what} ({one_line(error)}){advice}") from error
