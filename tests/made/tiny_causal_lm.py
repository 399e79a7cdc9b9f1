"""A causal language model of random weights, made in a moment: its tokenizer is trained on a few lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
)

KINDS = ("llama", "gpt2", "mistral")
"""Key heads that several heads share, positions that are learned, and layers that see a window alone."""

LINES = ["lima is the capital of peru", "quito is the capital of ecuador", "which paths are useful? answer: 1, 2, 3"]
TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] | trim }}<end>{% endfor %}<assistant>"


def write_tiny_causal_lm(
    folder: Path,
    *,
    kind: str = "llama",
    is_chat: bool = False,
    num_layers: int = 4,
    max_length: int = 512,
    begins: bool = False,
) -> Path:
    """Write a model and its tokenizer into the folder, and return it.

    begins: whether the tokenizer puts a special token before each text.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<end>", "<user>", "<system>", "<assistant>"]
    tokenizer.train_from_iterator(
        LINES,
        trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet, show_progress=False),
    )
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing(single="<user> $A", special_tokens=[("<user>", 1)])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")
    if is_chat:
        fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    shape: dict[str, Any] = {
        "vocab_size": len(fast),
        "hidden_size": 32,
        "num_hidden_layers": num_layers,
        "num_attention_heads": 4,
        "max_position_embeddings": max_length,
        "initializer_range": 0.5,
        "eos_token_id": 0,
        "bos_token_id": None,
        "pad_token_id": None,
    }
    grouped: dict[str, Any] = {"num_key_value_heads": 2, "intermediate_size": 64}
    networks: dict[str, Callable[[], Any]] = {
        "llama": lambda: LlamaForCausalLM(LlamaConfig(**shape, **grouped)),
        "gpt2": lambda: GPT2LMHeadModel(GPT2Config(**shape)),
        "mistral": lambda: MistralForCausalLM(MistralConfig(**shape, **grouped, sliding_window=16)),
    }
    networks[kind]().save_pretrained(folder)
    return folder
