"""The Hugging Face encoder inside both networks: its weights, its tokenizer, and the special tokens of STAR."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from ...encoder import EncoderUnavailableError, SentenceEncoder
from .bert import Bert, is_plain
from .plain_tokenizer import SPECIAL_TOKENS, plain_tokenizer


@dataclass(frozen=True, slots=True)
class Backbone:
    """An encoder with its tokenizer, which knows `SPECIAL_TOKENS`; the embedding matrix has a row for each."""

    name: str
    model: nn.Module
    tokenizer: Any
    """Of transformers, or as little as scoring asks of one: `plain_tokenizer.TextTokenizer`."""

    @property
    def dimension(self) -> int:
        """Length of a hidden state."""
        config: Any = self.model.config
        return int(config.hidden_size)


def pretrained_backbone(name: str) -> Backbone:
    """Return any encoder of the hub, a folder, or a package by name; raise `EncoderUnavailableError` without one."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    location = SentenceEncoder(name).location
    try:
        model = AutoModel.from_pretrained(location, use_safetensors=True, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(location, trust_remote_code=False)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise EncoderUnavailableError(
            f"encoder {name!r} could not be loaded ({reason}): give a folder, or a name that is in the local Hugging "
            "Face cache or on the hub"
        ) from error
    return _with_special_tokens(name, model, tokenizer)


def hidden_states(model: nn.Module, ids: Tensor, mask: Tensor, precision: torch.dtype | None) -> Tensor:
    """Return the last hidden states, (num_texts, length, dimension) float32; ids and mask: (num_texts, length).

    precision: what the encoder computes in where that is not the type of its weights (autocast).
    """
    with torch.autocast(ids.device.type, dtype=precision, enabled=precision is not None):
        states: Tensor = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    return states.float()


def device_of(network: nn.Module) -> torch.device:
    """Return where a network's weights are."""
    return next(network.parameters()).device


def stored_backbone(name: str, folder: Path) -> Backbone:
    """Return the encoder of a checkpoint as `folder` describes it, for scoring; its weights are still to be loaded."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    plain, tokenizer_of_file = _plain_config(folder), plain_tokenizer(folder)
    if plain is not None and tokenizer_of_file is not None:
        return Backbone(name, Bert(plain), tokenizer_of_file)
    from transformers import AutoConfig, AutoTokenizer

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return Backbone(name, _model(config), tokenizer)


def _plain_config(folder: Path) -> SimpleNamespace | None:
    """Return the configuration of a folder where it is one that `Bert` is for."""
    config = SimpleNamespace(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
    return config if is_plain(config) else None


def _model(config: Any) -> nn.Module:
    """Return the network of a configuration; transformers' own, slow to import, only where it has to be."""
    if is_plain(config):
        return Bert(config)
    from transformers import AutoModel

    model: Any = AutoModel
    made: nn.Module = model.from_config(config, trust_remote_code=False)
    return made


def describe_backbone(backbone: Backbone, folder: Path) -> None:
    """Write into `folder` what `stored_backbone` needs beside the weights."""
    model: Any = backbone.model
    model.config.save_pretrained(folder)
    backbone.tokenizer.save_pretrained(folder)


def _with_special_tokens(name: str, model: Any, tokenizer: Any) -> Backbone:
    """Add the special tokens; each begins as the mean of all others."""
    before = len(tokenizer)
    if tokenizer.add_special_tokens({"additional_special_tokens": list(SPECIAL_TOKENS)}):
        embeddings = model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        with torch.no_grad():
            embeddings.weight[before:] = embeddings.weight[:before].mean(dim=0)
    return Backbone(name, model, tokenizer)
