"""BERT for scoring, weights named as transformers' `BertModel` has them, without the two seconds of its import."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention


class States(NamedTuple):
    """What the network returns: (num_texts, length, dimension)."""

    last_hidden_state: Tensor


class Bert(nn.Module):
    """The network without dropout, for scoring, its weights still to be loaded; `config` is one that `is_plain`."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        width, inner = config.hidden_size, config.intermediate_size
        sizes = {"word": config.vocab_size, "position": config.max_position_embeddings}
        sizes["token_type"] = config.type_vocab_size
        embeddings: dict[str, nn.Module] = {
            f"{name}_embeddings": nn.Embedding(size, width, _weight=torch.empty(size, width))  # not drawn at random
            for name, size in sizes.items()
        }
        self.embeddings = nn.ModuleDict({**embeddings, "LayerNorm": _norm(config)})
        layers = nn.ModuleList(_layer(config, width, inner) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(width, width)})

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, inputs_embeds: Tensor | None = None
    ) -> States:
        """Return the last hidden states. input_ids, attention_mask: (num_texts, length); in the place of ids may stand
        the embeddings of words, (num_texts, length, dimension)."""
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
        return States(states)

    def _attention(self, maps: Any, states: Tensor, seen: Tensor) -> Tensor:
        heads = (self.config.num_attention_heads, -1)
        query, key, value = (maps[name](states).unflatten(-1, heads).transpose(1, 2) for name in _MAPS)
        return scaled_dot_product_attention(query, key, value, attn_mask=seen).transpose(1, 2).flatten(2)


_MAPS = ("query", "key", "value")


def is_plain(config: Any) -> bool:
    """Whether `Bert` computes what transformers would for this configuration."""
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
