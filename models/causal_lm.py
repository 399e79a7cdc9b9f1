"""Load causal language models, read the attention of one, and give one a LoRA to train."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import one_line
from .placement import count_call

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from .kinds import LoraOptions

Messages = Sequence[Mapping[str, str]]
"""A conversation: the ``role`` and ``content`` of each turn."""

FloatArray = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class CausalLMError(Exception):
    """The model is unavailable, or cannot do what the caller needs; the message says why in one line."""


class PromptTooLongError(CausalLMError):
    """The prompt is longer than the model's context."""


@dataclass(frozen=True, slots=True)
class ModelAndTokenizer:
    """A causal LM from disk or hub: a Hugging Face model and its tokenizer."""

    name: str
    network: Any
    tokenizer: Any


def load_language_model(
    name: str,
    *,
    device: str = "cpu",
    dtype: torch.dtype | None = None,
    fetch: bool = True,
    padding: str = "right",
    attention: str | None = None,
) -> ModelAndTokenizer:
    """Return a model by folder, or by name from the local cache or the hub; it reads only safetensors.

    dtype: of the weights; None: as stored. fetch: whether the hub may be asked; false for a name that comes from a
    checkpoint. padding: the side of a text that is padded. attention: the implementation; None for the model's default.
    Raises `CausalLMError` if the model is unavailable.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": not fetch or Path(name).is_dir()}
    with _translate_model_errors(
        f"the language model {name!r} cannot be loaded",
        ": give a folder, or a name that is in the local Hugging Face cache or on the hub",
    ):
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
        network = AutoModelForCausalLM.from_pretrained(
            name, dtype=dtype or "auto", use_safetensors=True, attn_implementation=attention, **options
        )
        network = network.to(torch.device(device)).eval()  # type: ignore[arg-type]
    network.base_model.register_forward_pre_hook(lambda *_: count_call("batches"))  # of a LoRA, too
    tokenizer.padding_side = padding
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    return ModelAndTokenizer(name, network, tokenizer)


@dataclass(frozen=True, slots=True)
class PromptAttention:
    """What the prompt's last position attends to: weights, (num_heads, num_tokens), each head's sum to 1.

    offsets: (num_tokens, 2) each token's characters in the last turn's content: negative before it, beyond its length
    after it, and empty for special tokens.
    """

    weights: FloatArray
    offsets: Ints


class AttentionExtractor:
    """Any Hugging Face causal LM with safetensors, by name or path, loaded at first use. Threads take turns."""

    def __init__(self, name: str, *, device: str | None = None) -> None:
        self.name = name
        self.device = device
        self._turn = threading.RLock()

    @property
    def num_layers(self) -> int:
        return int(self._model.config.get_text_config().num_hidden_layers)

    @property
    def max_length(self) -> int:
        return int(getattr(self._model.config.get_text_config(), "max_position_embeddings", 2**31))

    def render(self, messages: Messages) -> str:
        """Return the model's input text: the chat template filled, or the contents line by line for a model without
        one.
        """
        if self._tokenizer.chat_template is None:
            return "\n".join(message["content"] for message in messages) + "\n"
        turns = [dict(message) for message in messages]
        with _translate_model_errors(f"the chat template of {self.name!r} cannot be filled"):
            return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    def attention(self, messages: Messages, layer: int) -> PromptAttention:
        """Return what the prompt's last position attends to in one layer, counted from 0.

        Raises `PromptTooLongError`, or another `CausalLMError` if the model cannot show its attention.
        """
        import torch

        text = self.render(messages)
        content = messages[-1]["content"]
        start = text.rfind(content.strip()) - (len(content) - len(content.lstrip()))
        with self._turn, torch.inference_mode(), _translate_model_errors(f"{self.name!r} cannot show its attention"):
            encoded = self._encode(text)
            offsets = encoded.pop("offset_mapping")[0].numpy()
            inputs = {name: tensor.to(self._model.device) for name, tensor in encoded.items()}
            with _record_last_attention_row(layer) as row:
                self._model.base_model(**inputs, use_cache=False)
        if row.weights is None:
            raise CausalLMError(f"{self.name!r} has no layer {layer} of attention: expected one of {self.num_layers}")
        covers = offsets[:, 1:] > offsets[:, :1]
        return PromptAttention(row.weights[0].cpu().numpy(), np.where(covers, offsets - start, 0).astype(np.int64))

    @cached_property
    def _loaded(self) -> ModelAndTokenizer:
        import torch

        device = self.device or ("cuda" if torch.cuda.is_available() else "cpu")
        loaded = load_language_model(self.name, device=device, padding="left", attention=_register_attention())
        if not loaded.tokenizer.is_fast:
            raise CausalLMError(f"{self.name!r} has a tokenizer without offsets: expected a tokenizer.json beside it")
        if not loaded.network._supports_sdpa:
            raise CausalLMError(f"{self.name!r} has its own attention: expected scaled dot product attention")
        return loaded

    @property
    def _tokenizer(self) -> Any:
        return self._loaded.tokenizer

    @property
    def _model(self) -> Any:
        return self._loaded.network

    def _encode(self, text: str) -> dict[str, torch.Tensor]:
        encoded = self._tokenizer(
            [text],
            add_special_tokens=self._tokenizer.chat_template is None,  # a chat template adds them
            return_tensors="pt",
            return_offsets_mapping=True,
            return_token_type_ids=False,
        )
        length, most = int(encoded["input_ids"].shape[1]), self.max_length
        if length > most:
            raise PromptTooLongError(
                f"a prompt of {length:,} tokens exceeds the {most:,} that {self.name!r} reads: keep fewer paths, or "
                "use a model that reads more"
            )
        return dict(encoded)


@contextmanager
def _translate_model_errors(what: str, advice: str = "") -> Iterator[None]:
    """Raise `CausalLMError` in one line for any other error of a model's files or code."""
    try:
        yield
    except CausalLMError:
        raise
    except Exception as error:
        reason = one_line(error) or type(error).__name__
        raise CausalLMError(f"{what} ({reason}){advice}") from error


ATTENTION = "lodestar_last_row"
"""An attention implementation of transformers: PyTorch's scaled dot product attention, which keeps no weights. In the
requested layer it computes what the prompt's last position attends to and stops the forward pass: O(heads × length)
memory, not length × length.
"""


@dataclass(slots=True)
class _LastAttentionRow:
    """The recorded row, (batch, num_heads, length) float32; None until the layer has run."""

    layer: int
    weights: torch.Tensor | None = None


_wanted: ContextVar[_LastAttentionRow | None] = ContextVar("wanted", default=None)


class _EnoughError(Exception):
    """Stops the forward pass once the row is recorded."""


@contextmanager
def _record_last_attention_row(layer: int) -> Iterator[_LastAttentionRow]:
    """Record the last row of this layer, counted from 0, of the model that the block runs; the row ends the block."""
    row = _LastAttentionRow(layer)
    token = _wanted.set(row)
    try:
        yield row
    except _EnoughError:
        pass
    finally:
        _wanted.reset(token)


def _compute_last_attention_row(
    query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None, scaling: float
) -> torch.Tensor:
    """Return softmax(q · Kᵀ · scaling) of the last position, (batch, num_heads, length) float32.

    query: (batch, num_heads, num_queries, d). key: (batch, num_key_heads, length, d); each key head serves num_heads /
    num_key_heads heads. mask: (batch, 1, num_queries, length), bool, true for visible positions, or added to the
    product; None if the last position sees all.
    """
    keys = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    logits = (query[:, :, -1:, :] @ keys.transpose(2, 3) * scaling).float()
    if mask is not None:
        seen = mask[:, :, -1:, : key.shape[2]]
        logits = logits + seen if seen.is_floating_point() else logits.masked_fill(~seen, float("-inf"))
    return logits.softmax(dim=-1)[:, :, 0, :]


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    row = _wanted.get()
    if row is not None and getattr(module, "layer_idx", None) == row.layer:
        scaling = options.get("scaling")
        scale = float(query.shape[-1] ** -0.5 if scaling is None else scaling)
        row.weights = _compute_last_attention_row(query, key, attention_mask, scale)
        raise _EnoughError
    return sdpa_attention_forward(module, query, key, value, attention_mask, **options)


def _register_attention() -> str:
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(ATTENTION, _attend)
    AttentionMaskInterface.register(ATTENTION, sdpa_mask)
    return ATTENTION


# LoRA (Hu et al. 2022): W x + (alpha / rank) · B A x. W is frozen, A and B are trained, and B starts at 0. peft has
# the factors. A checkpoint stores only them, and names the model.

VALUES = 64
"""The number of values per weight that a fingerprint hashes."""


def compute_model_fingerprint(model: ModelAndTokenizer) -> str:
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
    with _translate_model_errors(f"{model.name!r} cannot have a LoRA on {options.targets!r}"):
        network: nn.Module = get_peft_model(model.network, config)
    return network


def get_lora_weights(network: nn.Module) -> dict[str, Tensor]:
    """Return the trainable weights of a network from `add_lora`, not copies, by name."""
    return {name: parameter.data for name, parameter in network.named_parameters() if parameter.requires_grad}
