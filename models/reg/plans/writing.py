"""A checkpoint of ReG@Path's language model at work: beam search over what may be written, and exact scores of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ...language.lora import LanguageModel
from ..paths.vocabulary import Vocabulary
from .config import PlanDescription
from .likelihood import log_probabilities
from .text import PlanText, Tokens
from .trie import Trie

AT_A_TIME = 8
"""Prefixes that are written on from together, each with all its beams."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """What is written on: the relations that were walked from a topic for a question. offered: those that lead on."""

    question: str
    topic: str
    path: tuple[str, ...]
    offered: tuple[str, ...]


Written = Mapping[str, tuple[float, float]]
"""The relations that were written, each with the log-probability of the whole path up to it, without END and with."""


class PlanModel:
    """Writes the next relation of paths. Threads take turns."""

    def __init__(self, description: PlanDescription, model: LanguageModel, network: nn.Module) -> None:
        self.description = description
        self._tokenizer = model.tokenizer
        self._network: Any = network
        self._turn = threading.RLock()

    def text(self, vocabulary: Vocabulary) -> PlanText:
        """Return how paths over these relations are written."""
        return PlanText(self._tokenizer, vocabulary)

    def write(self, prefixes: Sequence[Prefix], text: PlanText, num_beams: int) -> list[Written]:
        """Return, of the relations offered to each prefix, the `num_beams` that a beam search writes, scored.

        The search is constrained to a trie of what is offered: no other relation can be written, and where nothing is
        offered nothing is. Relations with the same words are written as one, and have the same score.
        """
        found: list[Written] = [{} for _ in prefixes]
        asked = [number for number, prefix in enumerate(prefixes) if prefix.offered]
        with self._turn, torch.inference_mode():
            for start in range(0, len(asked), AT_A_TIME):
                batch = asked[start : start + AT_A_TIME]
                chosen = self._chosen([prefixes[number] for number in batch], text, num_beams)
                for number, steps in zip(batch, chosen, strict=True):
                    found[number] = self._scored(prefixes[number], steps, text)
        return found

    def _chosen(self, prefixes: Sequence[Prefix], text: PlanText, num_beams: int) -> list[list[str]]:
        """Return what a constrained beam search writes."""
        from transformers import GenerationConfig

        of_tokens = [_by_tokens(prefix, text) for prefix in prefixes]
        ends = ((text.end,), (text.separator[0], text.end))  # a path ends here, or goes on
        tries = [Trie((*tokens, *end) for tokens in each for end in ends) for each in of_tokens]
        beginnings = [_beginning(prefix, text) for prefix in prefixes]
        length = max(map(len, beginnings))
        padded = [[text.padding] * (length - len(each)) + list(each) for each in beginnings]
        is_token = [[0] * (length - len(each)) + [1] * len(each) for each in beginnings]
        device = next(self._network.parameters()).device

        def allowed(row: int, tokens: torch.Tensor) -> list[int]:
            return tries[row].after(tokens[length:].tolist()) or [text.end]  # a beam that is dead ends, at -inf

        config = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False,
            num_beams=num_beams,
            num_return_sequences=num_beams,
            length_penalty=0.0 if num_beams > 1 else None,  # the sum of log-probabilities
            repetition_penalty=1.0,
            max_new_tokens=max(len(tokens) for each in of_tokens for tokens in each) + 2,
            pad_token_id=text.padding,
            eos_token_id=text.end,
        )
        output = self._network.generate(
            input_ids=torch.tensor(padded, device=device),
            attention_mask=torch.tensor(is_token, device=device),
            generation_config=config,
            prefix_allowed_tokens_fn=allowed,
        )
        rows = output[:, length:].tolist()
        return [
            _steps(rows[place * num_beams : (place + 1) * num_beams], each, text)
            for place, each in enumerate(of_tokens)
        ]

    def _scored(self, prefix: Prefix, steps: Sequence[str], text: PlanText) -> Written:
        prompt = text.prompt(prefix.question, prefix.topic)
        distinct = {text.path((*prefix.path, step)): None for step in steps}
        if not distinct:
            return {}
        scores = log_probabilities(self._network, [prompt] * len(distinct), list(distinct), text.end, text.padding)
        both = dict(zip(distinct, zip(*(each.tolist() for each in scores), strict=True), strict=True))
        return {step: both[text.path((*prefix.path, step))] for step in steps}


def _beginning(prefix: Prefix, text: PlanText) -> Tokens:
    walked = text.path(prefix.path)
    return text.prompt(prefix.question, prefix.topic) + walked + (text.separator if walked else ())


def _by_tokens(prefix: Prefix, text: PlanText) -> dict[Tokens, list[str]]:
    found: dict[Tokens, list[str]] = {}
    for step in prefix.offered:
        found.setdefault(text.step(step), []).append(step)
    return found


def _steps(rows: Sequence[Sequence[int]], of_tokens: Mapping[Tokens, list[str]], text: PlanText) -> list[str]:
    """Return the relations that were written, in the order of the beams, each once."""
    found: dict[str, None] = {}
    for row in rows:
        written = tuple(row[: row.index(text.end)] if text.end in row else row)
        for tokens in (written, written[:-1] if written[-1:] == text.separator[:1] else written):
            found |= dict.fromkeys(of_tokens.get(tokens, ()))
    return list(found)
