"""The readers that are trained with GRIL: one points at entities, the other writes answers.

`PointingReader` is ours: the paper does not say how a masked language model answers. A mention is the mean of its
tokens' last hidden states, scored by a perceptron; softmax runs over all mentions of a question, and an entity's
probability is the sum over its mentions. The graph token follows the first token, as an embedding.

`GenerativeReader` is the paper's (sections 4.2 and 4.3), a causal language model with a LoRA. It reads [graph token;
verbalised triples; question] and writes the answers. The graph token is an embedding that comes first, after the
tokenizer's begin token if there is one. The loss is the mean of −log P over the tokens of a question's answers, then
over questions. Its gradient reaches the LoRA, the bridge and, through the graph token, the retriever; the model's own
weights are frozen. Ours: the wording of the prompt; names are joined with ` | `, as in G-Retriever, at most
`MAX_ANSWERS`; the mean over tokens, as the sum would favour long names.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..causal_lm import (
    ModelAndTokenizer,
    add_lora,
    get_lora_weights,
    load_language_model,
)
from ..kinds import LoraOptions, read_weights, restore_weights, write_weights
from ..placement import count_call, move_batch
from ..reader import choose_answer_count
from ..text.bert import Backbone, open_pretrained, open_stored_backbone, pad_token_ids, write_backbone_description
from ..wording import casefold_nfkc
from . import JointOptions
from .network import Floats

ARROW, END = "→", ";"
UNNAMED_TEXT = "?"
"""Text of an unnamed entity, which is no candidate."""

MAX_TEXT = 64
"""The most tokens of a name or a relation."""

Tokenise = Callable[[str], list[int]]
"""Returns the ids of a text's tokens, without special tokens."""


@dataclass(frozen=True, slots=True)
class ReaderPassage:
    """triples: head, relation and tail; heads and tails are places in `names`. candidates: places in `names`."""

    question: str
    names: tuple[str | None, ...]
    triples: tuple[tuple[int, str, int], ...]
    candidates: tuple[int, ...]


Mention = tuple[int, int, int]
"""A candidate (its place in the passage's `candidates`), its first token and one after the last."""


def encode_passage(
    passage: ReaderPassage, tokenise: Tokenise, begin: int, separate: int, max_tokens: int
) -> tuple[list[int], list[Mention]]:
    """Return a passage as tokens, and the mentions: [begin] question [separate] head → relation → tail ; … [separate].

    Triples come in their order, as many as fit whole. A question that is too long keeps its end, which says what it
    asks for. A name has at most `MAX_TEXT` tokens.
    """
    place = {name: number for number, name in enumerate(passage.candidates)}
    found, mentioned = [begin, *tokenise(passage.question)[-(max_tokens // 2) :], separate], list[Mention]()
    for head, relation, tail in passage.triples:
        ids: list[int] = []
        mentions: list[Mention] = []
        for part in (head, ARROW, relation, ARROW, tail, END):
            text = (passage.names[part] or UNNAMED_TEXT) if isinstance(part, int) else part
            tokens = tokenise(text)[:MAX_TEXT]
            start = len(found) + len(ids)
            ids += tokens
            if isinstance(part, int) and part in place and tokens:
                mentions.append((place[part], start, start + len(tokens)))
        if len(found) + len(ids) + 1 > max_tokens:
            break
        found += ids
        mentioned += mentions
    return [*found, separate], mentioned


MAX_ANSWERS = 10
"""The most answers that a writing reader is taught per question. Ours."""


@dataclass(frozen=True, slots=True)
class ReaderQuestion:
    """A question with the passage its reader gets. is_right: (num_candidates,). num_answers: right answers in its
    subgraph, in the passage or not. answers: the names of these.
    """

    passage: ReaderPassage
    is_right: tuple[bool, ...]
    num_answers: int
    answers: tuple[str, ...]


ReaderOutput = tuple[list[bool], int]
"""Whether each answer of a reader is right, the likeliest first, and the number of right answers that there are."""
MAX_KEPT = 100_000


def _insert_tokens(embedded: Tensor, seen: Tensor, graph_tokens: Tensor, place: int) -> tuple[Tensor, Tensor]:
    """Return embeddings and mask with each row's graph token inserted at a place."""
    parts = [embedded[:, :place], graph_tokens[:, None].to(embedded.dtype), embedded[:, place:]]
    return torch.cat(parts, dim=1), torch.cat([seen[:, :1], seen], dim=1)


def choose_predicted_answers(scores: Floats) -> list[int]:
    """Return which candidates are answers, the likeliest first: as many as have the highest F1 of expected counts."""
    order = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]
    return order[: choose_answer_count(scores[order].astype(np.float64))].tolist()


CERTAIN = 1e-9
"""Keeps log P finite."""


class PointingReader(nn.Module):
    """Points at candidates by the states of their mentions in the passage. backbone: its encoder, with a tokenizer."""

    def __init__(self, backbone: Backbone, max_tokens: int) -> None:
        super().__init__()
        self.encoder: Any = backbone.model
        self.backbone = backbone
        self.width = backbone.dimension
        self.max_tokens = max_tokens
        self.inner = nn.Linear(backbone.dimension, backbone.dimension)
        self.out = nn.Linear(backbone.dimension, 1)
        self._tokenizer: Any = backbone.tokenizer
        tokenise = partial(self._tokenizer, add_special_tokens=False, verbose=False)
        self._tokenise = lru_cache(MAX_KEPT)(lambda text: tokenise(text)["input_ids"])

    def pretrained_parameters(self) -> Sequence[Tensor]:
        return list(self.encoder.parameters())

    def trained_weights(self) -> Mapping[str, Tensor]:
        return self.state_dict()

    def forward(self, passages: Sequence[ReaderPassage], graph_tokens: Tensor | None = None) -> list[Tensor]:
        """Return the probability of each candidate of each passage; 0 for one that is not in the text.

        graph_tokens: (num_passages, width); None for a reader without them.
        """
        begin, separate = self._tokenizer.cls_token_id, self._tokenizer.sep_token_id
        longest = self.max_tokens - 1  # with room for the graph token
        texts = [encode_passage(each, self._tokenise, begin, separate, longest) for each in passages]
        shift = 0 if graph_tokens is None else 1
        found: list[Tensor] = []
        for passage, (_, mentions), state in zip(
            passages, texts, self.states([ids for ids, _ in texts], graph_tokens), strict=True
        ):
            probabilities = state.new_zeros(len(passage.candidates))
            if mentions:
                spans = torch.stack([state[start + shift : after + shift].mean(dim=0) for _, start, after in mentions])
                shares = self.out(torch.tanh(self.inner(spans))).squeeze(1).softmax(dim=0)
                candidates = torch.tensor([candidate for candidate, _, _ in mentions]).to(state.device)
                probabilities = probabilities.index_add(0, candidates, shares)
            found.append(probabilities)
        return found

    def states(self, texts: Sequence[Sequence[int]], graph_tokens: Tensor | None) -> Tensor:
        """Return the last hidden states, (num_texts, length, width) float32.

        graph_tokens: (num_texts, width), inserted at place 1 as embeddings; None for none.
        """
        embeddings = self.encoder.get_input_embeddings()
        device = next(embeddings.parameters()).device
        ids, seen = move_batch(pad_token_ids(texts), device)
        embedded = embeddings(ids)
        if graph_tokens is not None:
            embedded, seen = _insert_tokens(embedded, seen, graph_tokens, 1)
        states: Tensor = self.encoder(inputs_embeds=embedded, attention_mask=seen.long()).last_hidden_state
        return states.float()

    def loss(self, questions: Sequence[ReaderQuestion], tokens: Tensor | None) -> Tensor:
        return compute_reading_loss(
            self([each.passage for each in questions], tokens), [each.is_right for each in questions]
        )

    def outputs(self, questions: Sequence[ReaderQuestion], tokens: Tensor | None) -> list[ReaderOutput]:
        pointed = self([each.passage for each in questions], tokens)
        return [
            ([each.is_right[place] for place in choose_predicted_answers(scores.cpu().numpy())], each.num_answers)
            for scores, each in zip(pointed, questions, strict=True)
        ]


def compute_reading_loss(pointed: Sequence[Tensor], is_right: Sequence[Sequence[bool]]) -> Tensor:
    """Return the mean of −log P(a | G_s, q), P the sum over the right candidates.

    pointed, is_right: of each question's candidates. Questions without a right candidate in the text do not count, as
    no reader could point at one; 0 if none counts.
    """
    right = [of_question @ of_question.new_tensor(each) for of_question, each in zip(pointed, is_right, strict=True)]
    there = [each for each in right if each > 0]
    return -torch.stack(there).clamp(min=CERTAIN).log().mean() if there else 0 * torch.stack(right).sum()


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
    def __init__(self, model: ModelAndTokenizer, lora: LoraOptions, max_tokens: int) -> None:
        super().__init__()
        self.language_model: Any = add_lora(model, lora)
        self.max_tokens = max_tokens
        self._tokenizer: Any = model.tokenizer
        end = model.tokenizer.eos_token_id
        self._end = int(model.tokenizer.pad_token_id if end is None else end)
        self._embeddings = self.language_model.get_input_embeddings()
        self.width = int(self._embeddings.weight.shape[1])

    def loss(self, questions: Sequence[ReaderQuestion], tokens: Tensor | None) -> Tensor:
        """Return the mean of −log P over the answers' tokens; 0 without a gradient if no question has answers."""
        answerable = [place for place, each in enumerate(questions) if each.answers]
        if not answerable:
            return self._embeddings.weight.new_zeros(())
        prompts = [self._prompt(questions[place].passage) for place in answerable]
        answers = [BETWEEN.join(questions[place].answers[:MAX_ANSWERS]) for place in answerable]
        written = [[*self._ids(answer), self._end] for answer in answers]
        rows = [[*prompt, *answer] for prompt, answer in zip(prompts, written, strict=True)]
        embedded, seen = self._embed(rows, None if tokens is None else tokens[answerable])
        logits = self.language_model(inputs_embeds=embedded, attention_mask=seen, use_cache=False).logits
        labels = torch.full_like(seen, IGNORED)
        shift = 0 if tokens is None else 1
        for row, (prompt, answer) in enumerate(zip(prompts, written, strict=True)):
            start = len(prompt) + shift
            labels[row, start : start + len(answer)] = torch.tensor(answer)
        losses = cross_entropy(
            logits[:, :-1].float().transpose(1, 2), labels[:, 1:], ignore_index=IGNORED, reduction="none"
        )
        return (losses.sum(dim=1) / (labels[:, 1:] != IGNORED).sum(dim=1)).mean()

    def outputs(self, questions: Sequence[ReaderQuestion], tokens: Tensor | None) -> list[ReaderOutput]:
        """Return whether each written name is right: it matches one, case aside."""
        results: list[ReaderOutput] = []
        replies = self.replies([each.passage for each in questions], tokens)
        for each, reply in zip(questions, replies, strict=True):
            right = {casefold_nfkc(name) for name in each.answers}
            results.append(([casefold_nfkc(name) in right for name in reply.names], len(right)))
        return results

    def replies(self, passages: Sequence[ReaderPassage], tokens: Tensor | None) -> list[WrittenReply]:
        from transformers import GenerationConfig

        config = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False,
            num_beams=1,
            max_new_tokens=MAX_WRITTEN,
            pad_token_id=self._tokenizer.pad_token_id,
            eos_token_id=self._end,
            return_dict_in_generate=True,
            output_logits=True,
        )
        results = []
        for place, passage in enumerate(passages):
            with torch.no_grad():
                graph_token = None if tokens is None else tokens[place : place + 1]
                embedded, seen = self._embed([self._prompt(passage)], graph_token)
                written = self.language_model.generate(
                    inputs_embeds=embedded, attention_mask=seen, generation_config=config
                )
            text = self._tokenizer.decode(written.sequences[0], skip_special_tokens=True)
            names = dict.fromkeys(name for part in text.split("|") if (name := " ".join(part.split())))
            chosen = [logits[0].float().log_softmax(dim=0).max() for logits in written.logits]  # decoding is greedy
            results.append(WrittenReply(tuple(names), float(torch.stack(chosen).mean().exp())))
        return results

    def pretrained_parameters(self) -> Sequence[Tensor]:
        return [parameter for parameter in self.language_model.parameters() if parameter.requires_grad]

    def trained_weights(self) -> Mapping[str, Tensor]:
        return get_lora_weights(self.language_model)

    def _embed(self, rows: Sequence[list[int]], tokens: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return embeddings, (num_rows, length, width), and the attention mask, padded on the right."""
        ids, mask = move_batch(pad_token_ids(rows, self._tokenizer.pad_token_id), self._embeddings.weight.device)
        embedded: Tensor = self._embeddings(ids)
        seen = mask.long()
        if tokens is None:
            return embedded, seen
        first = 1 if all(row[:1] == [self._tokenizer.bos_token_id] for row in rows) else 0
        return _insert_tokens(embedded, seen, tokens, first)

    def _prompt(self, passage: ReaderPassage) -> list[int]:
        facts = [
            f" {ARROW} ".join((passage.names[head] or UNNAMED_TEXT, relation, passage.names[tail] or UNNAMED_TEXT))
            for head, relation, tail in passage.triples
        ]
        while len(ids := self._render(passage, facts)) > self.max_tokens and facts:
            facts.pop()
        return ids

    def _render(self, passage: ReaderPassage, facts: Sequence[str]) -> list[int]:
        lines = "\n".join(facts)
        text = f"Facts:\n{lines}\n\n" if facts else ""
        text += f"Question: {passage.question}\nAnswer with names, separated by{BETWEEN.rstrip()}"
        if self._tokenizer.chat_template is None:
            return [int(each) for each in self._tokenizer(f"{text}\nAnswer: ")["input_ids"]]
        turns = [{"role": "user", "content": text}]
        rendered = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return self._ids(rendered)

    def _ids(self, text: str) -> list[int]:
        return [int(each) for each in self._tokenizer(text, add_special_tokens=False)["input_ids"]]


JointReader = PointingReader | GenerativeReader
"""A reader φ that is trained with a retriever. Its `tokens` are the graph token of each question, (num_questions,
width); None for a reader without. Its pretrained parameters, and those of a LoRA, get the lower learning rate.
"""


def make_reader(options: JointOptions, device: str = "cpu", stored: Path | None = None) -> JointReader:
    """Return an untrained reader, or the one stored in a folder; a writing reader is its language model, by name, with
    a LoRA. Raises `EncoderUnavailableError` or `CausalLMError` if its model is unavailable.
    """
    reader: JointReader
    if options.reads == "writing":
        model = load_language_model(options.reader, device=device, fetch=stored is None)
        reader = GenerativeReader(model, options.lora, options.max_tokens)
    else:
        backbone = open_stored_backbone(options.reader, stored) if stored else open_pretrained(options.reader)
        reader = PointingReader(backbone, options.max_tokens)
    if stored:
        restore_weights(reader.trained_weights(), read_weights(stored))
    return reader.eval() if stored else reader


def write_reader(reader: JointReader, part: Path) -> None:
    if isinstance(reader, PointingReader):
        write_backbone_description(reader.backbone, part)
    write_weights(reader.trained_weights(), part)


class ReaderModel:
    """Answers with a checkpoint; threads take turns."""

    def __init__(self, options: JointOptions, reader: JointReader) -> None:
        self.options = options
        self._reader = reader
        self._turn = threading.RLock()

    def read(
        self, passages: Sequence[ReaderPassage], tokens: Sequence[Sequence[float]]
    ) -> list[WrittenReply] | list[Floats]:
        """Return, for each passage, the probability of each candidate, or what was written.

        tokens: graph tokens, one per passage; ignored by a reader that takes none.
        """
        if not passages:
            return []
        with self._turn, torch.no_grad():
            device = self._reader.pretrained_parameters()[0].device
            given = torch.tensor(tokens).to(device) if self.options.token else None
            if isinstance(self._reader, GenerativeReader):
                return self._reader.replies(passages, given)
            count_call("batches")
            return [each.cpu().numpy() for each in self._reader(passages, given)]
