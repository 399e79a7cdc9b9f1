"""The log-probability that a language model gives a path, as the beginning of one and as a whole one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .text import Tokens


def log_probabilities(
    network: nn.Module, prompts: Sequence[Tokens], paths: Sequence[Tokens], end: int, padding: int
) -> tuple[Tensor, Tensor]:
    """Return Σ ln P(token | prompt, tokens before) of each path, without its end and with it, (num_paths,) each."""
    device = next(network.parameters()).device
    length = max(len(prompt) + len(path) for prompt, path in zip(prompts, paths, strict=True))
    tokens = torch.full((len(paths), length), padding, dtype=torch.long)
    is_token = torch.zeros((len(paths), length), dtype=torch.long)
    for row, (prompt, path) in enumerate(zip(prompts, paths, strict=True)):
        tokens[row, : len(prompt) + len(path)] = torch.tensor([*prompt, *path])
        is_token[row, : len(prompt) + len(path)] = 1
    logits = network(input_ids=tokens.to(device), attention_mask=is_token.to(device), use_cache=False).logits
    begun, whole = [], []
    for row, (prompt, path) in enumerate(zip(prompts, paths, strict=True)):
        first, after = len(prompt), len(prompt) + len(path)
        said = logits[row, first - 1 : after].float().log_softmax(dim=-1)
        written = said[:-1].gather(1, tokens[row, first:after, None].to(device)).sum()
        begun.append(written)
        whole.append(written + said[-1, end])
    return torch.stack(begun), torch.stack(whole)
