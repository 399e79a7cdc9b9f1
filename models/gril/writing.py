"""Write answers with a causal language model and a LoRA that was trained with GRIL (sections 4.2 and 4.3).

It reads [graph token; verbalised triples; question] and writes the answers. The graph token is an embedding that comes
first, after the tokenizer's begin token if there is one. The loss is the mean of −log P over the tokens of a question's
answers, then over questions. Its gradient reaches the LoRA, the bridge and, through the graph token, the retriever; the
model's own weights are frozen.

Ours: the wording of the prompt; names are joined with ` | `, as in G-Retriever, at most `MAX_ANSWERS`; the mean over
tokens, as the sum would favour long names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..language.causal_lm import ChosenLogprobs
from ..language.lora import ModelAndTokenizer, adapter_weights, add_lora
from ..training.kind import LoraOptions
from ..words import fold_spelling
from .passages import ARROW, MAX_ANSWERS, UNNAMED_TEXT, Passage, ReaderOutput, ReaderQuestion

BETWEEN = " | "
IGNORED = -100
MAX_WRITTEN = 128
"""The most tokens of a reply."""


@dataclass(frozen=True, slots=True)
class WrittenReply:
    """names: as written, without duplicates. probability: the geometric mean of the tokens' probabilities."""

    names: tuple[str, ...]
    probability: float


class GenerativeReader(nn.Module):
    """model: as loaded; the constructor adds the LoRA. has_text: whether the prompt contains triples."""

    def __init__(self, model: ModelAndTokenizer, lora: LoraOptions, max_tokens: int, *, has_text: bool) -> None:
        super().__init__()
        self.language_model: Any = add_lora(model, lora)
        self.max_tokens, self.has_text = max_tokens, has_text
        self._tokenizer: Any = model.tokenizer

    @property
    def width(self) -> int:
        """Width of its embeddings."""
        return int(self._embeddings.weight.shape[1])

    def loss(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> Tensor:
        """Return the mean of −log P over the answers' tokens; 0 without a gradient if no question has answers."""
        answerable = [place for place, each in enumerate(questions) if each.wanted.answers]
        if not answerable:
            nothing: Tensor = self._embeddings.weight.new_zeros(())
            return nothing
        prompts = [self._prompt(questions[place].passage) for place in answerable]
        answers = [self._ids(BETWEEN.join(questions[place].wanted.answers[:MAX_ANSWERS])) for place in answerable]
        answers = [[*ids, self._end] for ids in answers]
        graph_tokens = None if tokens is None else tokens[answerable]
        with torch.autocast(self._device.type, dtype=precision, enabled=precision is not None):
            embedded, seen = self._embed(prompts, answers, graph_tokens)
            logits = self.language_model(inputs_embeds=embedded, attention_mask=seen, use_cache=False).logits
        labels = torch.full_like(seen, IGNORED)
        shift = 0 if graph_tokens is None else 1
        for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            start = len(prompt) + shift
            labels[row, start : start + len(answer)] = torch.tensor(answer)
        losses = cross_entropy(
            logits[:, :-1].float().transpose(1, 2), labels[:, 1:], ignore_index=IGNORED, reduction="none"
        )
        counts = (labels[:, 1:] != IGNORED).sum(dim=1)
        return (losses.sum(dim=1) / counts).mean()

    def outputs(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> list[ReaderOutput]:
        """Return the written names as candidates, the first as the best; a name is right if it matches, case aside."""
        results = []
        for each, reply in zip(
            questions, self.replies([each.passage for each in questions], tokens, precision), strict=True
        ):
            right = {fold_spelling(name) for name in each.wanted.answers}
            scores = np.linspace(1.0, 0.9, len(reply.names), dtype=np.float32)
            is_right = np.array([fold_spelling(name) in right for name in reply.names], dtype=np.bool_)
            results.append(ReaderOutput(scores, is_right, len(right)))
        return results

    def replies(
        self, passages: Sequence[Passage], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> list[WrittenReply]:
        """Return the greedy reply to each passage."""
        from transformers import GenerationConfig

        config = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False,
            num_beams=1,
            max_new_tokens=MAX_WRITTEN,
            pad_token_id=self._tokenizer.pad_token_id,
            eos_token_id=self._end,
        )
        results = []
        for place, passage in enumerate(passages):
            graph_tokens = None if tokens is None else tokens[place : place + 1]
            chosen = ChosenLogprobs()
            with torch.no_grad(), torch.autocast(self._device.type, dtype=precision, enabled=precision is not None):
                embedded, seen = self._embed([self._prompt(passage)], [[]], graph_tokens)
                written = self.language_model.generate(
                    inputs_embeds=embedded, attention_mask=seen, generation_config=config, logits_processor=[chosen]
                )
            text = self._tokenizer.decode(written[0], skip_special_tokens=True)
            names = dict.fromkeys(name for part in text.split("|") if (name := " ".join(part.split())))
            logprobs = chosen.by_row()[0]
            results.append(WrittenReply(tuple(names), math.exp(sum(logprobs) / len(logprobs))))
        return results

    def pretrained_parameters(self) -> Sequence[Tensor]:
        """Return the LoRA's parameters."""
        return [parameter for parameter in self.language_model.parameters() if parameter.requires_grad]

    def trained_weights(self) -> Mapping[str, Tensor]:
        """Return the LoRA's factors by name."""
        return adapter_weights(self.language_model)

    def recompute(self) -> None:
        """Recompute activations to save memory."""
        self.language_model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

    @property
    def _embeddings(self) -> Any:
        return self.language_model.get_input_embeddings()

    @property
    def _end(self) -> int:
        tokenizer = self._tokenizer
        return int(tokenizer.pad_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id)

    @property
    def _device(self) -> torch.device:
        device: torch.device = self._embeddings.weight.device
        return device

    def _embed(
        self, prompts: Sequence[list[int]], answers: Sequence[list[int]], tokens: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return embeddings, (num_prompts, length, width), and the attention mask, padded on the right."""
        whole = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
        length = max(map(len, whole))
        ids = torch.full((len(whole), length), self._tokenizer.pad_token_id)
        seen = torch.zeros(len(whole), length, dtype=torch.int64)
        for row, each in enumerate(whole):
            ids[row, : len(each)] = torch.tensor(each)
            seen[row, : len(each)] = 1
        ids, seen = ids.to(self._device), seen.to(self._device)
        embedded: Tensor = self._embeddings(ids)
        if tokens is None:
            return embedded, seen
        first = 1 if all(prompt[:1] == [self._tokenizer.bos_token_id] for prompt in prompts) else 0
        parts = [embedded[:, :first], tokens[:, None].to(embedded.dtype), embedded[:, first:]]
        return torch.cat(parts, dim=1), torch.cat([seen[:, :1], seen], dim=1)

    def _prompt(self, passage: Passage) -> list[int]:
        """Return the prompt with the first triples that fit into `max_tokens`."""
        facts = [
            f" {ARROW} ".join((passage.names[head] or UNNAMED_TEXT, relation, passage.names[tail] or UNNAMED_TEXT))
            for head, relation, tail in (passage.triples if self.has_text else ())
        ]
        budget = self.max_tokens - len(self._render(passage.question, ()))
        kept = 0
        while kept < len(facts) and (budget := budget - len(self._ids(facts[kept] + "\n"))) > 0:
            kept += 1
        while len(ids := self._render(passage.question, facts[:kept])) > self.max_tokens and kept:
            kept -= 1
        return ids

    def _render(self, question: str, facts: Sequence[str]) -> list[int]:
        lines = "\n".join(facts)
        told = f"Facts:\n{lines}\n\n" if facts else ""
        text = f"{told}Question: {question}\nAnswer with names, separated by{BETWEEN.rstrip()}"
        if self._tokenizer.chat_template is None:
            return [int(each) for each in self._tokenizer(f"{text}\nAnswer: ")["input_ids"]]
        turns = [{"role": "user", "content": text}]
        rendered = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return self._ids(rendered)

    def _ids(self, text: str) -> list[int]:
        return [int(each) for each in self._tokenizer(text, add_special_tokens=False)["input_ids"]]
