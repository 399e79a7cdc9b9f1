"""Run BERT-like encoders: trained by transformers, and for scoring, without it, where a plain BERT is enough."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from .encoders import EncoderUnavailableError, SentenceEncoder, merge_into_network

if TYPE_CHECKING:
    from tokenizers import Tokenizer


_FILE = "tokenizer.json"
_CONFIG = "tokenizer_config.json"


class _PlainTokenizer:
    """A tokenizer over ``tokenizer.json`` for scoring; ``tokenizer_config.json`` names its special tokens."""

    def __init__(self, tokenizer: Tokenizer, config: Mapping[str, Any]) -> None:
        self._tokenizer = tokenizer
        names = ("cls", "bos", "sep", "eos", "pad", "unk")
        ids = {name: self.convert_tokens_to_ids(_token(config.get(f"{name}_token"))) for name in names}
        self.cls_token_id, self.bos_token_id = ids["cls"], ids["bos"]
        self.sep_token_id, self.eos_token_id = ids["sep"], ids["eos"]
        self.pad_token_id, self.unk_token_id = ids["pad"], ids["unk"]

    def __call__(self, text: str, *, add_special_tokens: bool, verbose: bool) -> dict[str, list[int]]:  # noqa: ARG002
        """Return the ids of a text as ``input_ids``."""
        return {"input_ids": self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}

    def convert_tokens_to_ids(self, token: str) -> int | None:
        """Return the id of a token; None if it is missing."""
        return self._tokenizer.token_to_id(token)

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        """Return the tokens of ids."""
        return [self._tokenizer.id_to_token(id_) or "" for id_ in ids]


def _plain_tokenizer(folder: Path) -> _PlainTokenizer | None:
    """Return the tokenizer stored in a folder, without truncation; None if it is not like BERT's."""
    if not (folder / _FILE).is_file() or not (folder / _CONFIG).is_file():
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / _FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    plain = _PlainTokenizer(tokenizer, json.loads((folder / _CONFIG).read_text(encoding="utf-8")))
    ids = (plain.cls_token_id, plain.sep_token_id, plain.pad_token_id, plain.unk_token_id)
    return None if None in ids else plain


def _token(entry: Any) -> str:
    """Return a token as a configuration names it: a text, or an object with its content."""
    content = entry.get("content") if isinstance(entry, dict) else entry
    return content if isinstance(content, str) else ""


class _HiddenStates(NamedTuple):
    """The network's output: (num_texts, length, dimension)."""

    last_hidden_state: Tensor


class Bert(nn.Module):
    """The network without dropout, for scoring, before its weights are loaded; `config` must satisfy `_is_plain`."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        width, inner = config.hidden_size, config.intermediate_size
        sizes = {"word": config.vocab_size, "position": config.max_position_embeddings}
        sizes["token_type"] = config.type_vocab_size
        embeddings: dict[str, nn.Module] = {
            f"{name}_embeddings": nn.Embedding(
                size, width, _weight=torch.empty(size, width)
            )  # skip random initialisation
            for name, size in sizes.items()
        }
        self.embeddings = nn.ModuleDict({**embeddings, "LayerNorm": _norm(config)})
        layers = nn.ModuleList(_layer(config, width, inner) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(width, width)})

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, inputs_embeds: Tensor | None = None
    ) -> _HiddenStates:
        """Return the last hidden states. input_ids, attention_mask: (num_texts, length). inputs_embeds: word embeddings
        in place of ids, (num_texts, length, dimension).
        """
        embeddings: Any = self.embeddings
        layers: Any = self.encoder["layer"]
        states: Tensor = embeddings["word_embeddings"](input_ids) if inputs_embeds is None else inputs_embeds
        states = states + embeddings["token_type_embeddings"].weight[0]
        states = states + embeddings["position_embeddings"].weight[: states.shape[1]]
        states = embeddings["LayerNorm"](states)
        assert attention_mask is not None
        seen = attention_mask[:, None, None, :].bool()
        for layer in layers:
            after = layer["attention"]["output"]
            read = self._attention(layer["attention"]["self"], states, seen)
            states = after["LayerNorm"](after["dense"](read) + states)
            inner = gelu(layer["intermediate"]["dense"](states))
            states = layer["output"]["LayerNorm"](layer["output"]["dense"](inner) + states)
        return _HiddenStates(states)

    def get_input_embeddings(self) -> nn.Module:
        """Return the word embeddings, as a network of transformers does."""
        return self.embeddings["word_embeddings"]

    def _attention(self, maps: Any, states: Tensor, seen: Tensor) -> Tensor:
        heads = (self.config.num_attention_heads, -1)
        query, key, value = (maps[name](states).unflatten(-1, heads).transpose(1, 2) for name in _MAPS)
        return scaled_dot_product_attention(query, key, value, attn_mask=seen).transpose(1, 2).flatten(2)


_MAPS = ("query", "key", "value")


def _is_plain(config: Any) -> bool:
    """Whether `Bert` computes the same as transformers for this configuration."""
    return (
        config.model_type == "bert"
        and config.hidden_act == "gelu"
        and getattr(config, "position_embedding_type", "absolute") == "absolute"
        and not getattr(config, "is_decoder", False)
    )


def _layer(config: Any, width: int, inner: int) -> nn.ModuleDict:
    attention = {"self": nn.ModuleDict({name: nn.Linear(width, width) for name in _MAPS})}
    attention["output"] = nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": _norm(config)})
    return nn.ModuleDict(
        {
            "attention": nn.ModuleDict(attention),
            "intermediate": nn.ModuleDict({"dense": nn.Linear(width, inner)}),
            "output": nn.ModuleDict({"dense": nn.Linear(inner, width), "LayerNorm": _norm(config)}),
        }
    )


def _norm(config: Any) -> nn.LayerNorm:
    return nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)


@dataclass(frozen=True, slots=True)
class Backbone:
    """An encoder with its tokenizer; the embedding matrix has a row for each token."""

    name: str
    model: nn.Module
    tokenizer: Any
    """From transformers, or a `_PlainTokenizer`, which has what scoring needs."""

    @property
    def dimension(self) -> int:
        """Length of a hidden state."""
        config: Any = self.model.config
        return int(config.hidden_size)


def open_pretrained(name: str, special_tokens: Sequence[str] = ()) -> Backbone:
    """Return any encoder by hub name, folder or package; raise `EncoderUnavailableError` if it is unavailable.

    special_tokens: are added; each starts as the mean of all others.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    encoder = SentenceEncoder(name)
    try:
        model = AutoModel.from_pretrained(encoder.location, use_safetensors=True, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(encoder.location, trust_remote_code=False)
        if encoder.adapter is not None:
            merge_into_network(model, encoder.adapter)
    except (OSError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise EncoderUnavailableError(
            f"encoder {name!r} could not be loaded ({reason}): give a folder, or a name that is in the local Hugging "
            "Face cache or on the hub"
        ) from error
    before = len(tokenizer)
    if tokenizer.add_special_tokens({"additional_special_tokens": list(special_tokens)}):
        embeddings = model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        with torch.no_grad():
            embeddings.weight[before:] = embeddings.weight[:before].mean(dim=0)
    return Backbone(name, model, tokenizer)


def pad_token_ids(texts: Sequence[Sequence[int]], padding: int = 0) -> list[Tensor]:
    """Return the ids of texts, padded on the right, and the mask of what is no padding, (num_texts, length) each."""
    length = max(map(len, texts))
    ids = torch.tensor([[*text, *[padding] * (length - len(text))] for text in texts])
    return [ids, torch.arange(length) < torch.tensor([[len(text)] for text in texts])]


def compute_hidden_states(model: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
    """Return the last hidden states, (num_texts, length, dimension) float32; ids and mask: (num_texts, length)."""
    states: Tensor = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    return states.float()


def open_stored_backbone(name: str, folder: Path) -> Backbone:
    """Return a checkpoint's encoder as `folder` describes it, for scoring, before its weights are loaded."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    plain, tokenizer_of_file = _plain_config(folder), _plain_tokenizer(folder)
    if plain is not None and tokenizer_of_file is not None:
        return Backbone(name, Bert(plain), tokenizer_of_file)
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    opening: Any = AutoModel
    model: nn.Module = opening.from_config(config, trust_remote_code=False)
    return Backbone(name, model, tokenizer)


def _plain_config(folder: Path) -> SimpleNamespace | None:
    """Return a folder's configuration if `Bert` supports it."""
    config = SimpleNamespace(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
    return config if _is_plain(config) else None


def write_backbone_description(backbone: Backbone, folder: Path) -> None:
    """Write the files that `open_stored_backbone` needs beside the weights into `folder`."""
    model: Any = backbone.model
    model.config.save_pretrained(folder)
    backbone.tokenizer.save_pretrained(folder)
