"""Encode the passages that GRIL's readers read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ..star.backbone import Backbone

ARROW, END = "→", ";"
UNNAMED_TEXT = "?"
"""Text of an unnamed entity, which is no candidate."""

MAX_TEXT = 64
"""The most tokens of a name or a relation."""

Tokenise = Callable[[str], list[int]]
"""Returns the ids of a text's tokens, without special tokens."""


@dataclass(frozen=True, slots=True)
class Passage:
    """triples: head, relation and tail; heads and tails are places in `names`. candidates: places in `names`."""

    question: str
    names: tuple[str | None, ...]
    triples: tuple[tuple[int, str, int], ...]
    candidates: tuple[int, ...]


@dataclass(slots=True)
class EncodedPassage:
    """A passage's token ids without the graph token, which follows the first. mentions: candidate (its place in the
    passage's `candidates`), first token and one after the last.
    """

    ids: list[int] = field(default_factory=list)
    mentions: list[tuple[int, int, int]] = field(default_factory=list)


def encode_passage(
    passage: Passage,
    tokenise: Tokenise,
    begin: int,
    separate: int,
    max_tokens: int,
    *,
    has_text: bool,
    after: str = "",
) -> EncodedPassage:
    """Return a passage as tokens: [begin] question [separate] head → relation → tail ; … [separate].

    Triples come in their order, as many as fit whole. Without text only the names of the candidates are written (ours:
    a pointing reader needs something to point at). after: text between question and triples, such as an option. A
    question that is too long keeps its end, which says what it asks for. A name has at most `MAX_TEXT` tokens.
    """
    place = {name: number for number, name in enumerate(passage.candidates)}
    added = [*tokenise(after)[: max_tokens // 4], separate] if after else []
    questions = tokenise(passage.question)
    most = max_tokens // 2 if has_text or passage.candidates else max_tokens - 3 - len(added)
    found = EncodedPassage([begin, *questions[-most:], separate, *added])
    rows: Sequence[Sequence[int | str]] = (
        [(head, ARROW, relation, ARROW, tail, END) for head, relation, tail in passage.triples]
        if has_text
        else [(candidate, END) for candidate in passage.candidates]
    )
    for row in rows:
        ids: list[int] = []
        mentions: list[tuple[int, int, int]] = []
        for part in row:
            text = (passage.names[part] or UNNAMED_TEXT) if isinstance(part, int) else part
            tokens = tokenise(text)[:MAX_TEXT]
            start = len(found.ids) + len(ids)
            ids += tokens
            if isinstance(part, int) and part in place and tokens:
                mentions.append((place[part], start, start + len(tokens)))
        if len(found.ids) + len(ids) + 1 > max_tokens:
            break
        found.ids += ids
        found.mentions += mentions
    found.ids.append(separate)
    return found


Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

MAX_ANSWERS = 10
"""The most answers that a writing reader is taught per question. Ours."""


@dataclass(frozen=True, slots=True)
class ReaderTarget:
    """What is known about a question beside its subgraph. answers: names of the right answers, which need not be in any
    graph. options: of a multiple-choice question, for which `right` is the place of the right one.
    """

    answers: tuple[str, ...]
    options: tuple[str, ...] = ()
    right: int = 0


@dataclass(frozen=True, slots=True)
class ReaderQuestion:
    """A question with the passage its reader gets. is_right: (num_candidates,). num_answers: right answers in its
    subgraph, in the passage or not.
    """

    passage: Passage
    is_right: tuple[bool, ...]
    num_answers: int
    wanted: ReaderTarget


@dataclass(frozen=True, slots=True)
class ReaderOutput:
    """A reader's output: the probability of each candidate, which are right, and the number of right answers."""

    scores: Floats
    is_right: Bools
    num_answers: int


class JointReader(Protocol):
    """A reader φ that is trained with a retriever, an `nn.Module`. tokens: the graph token of each question,
    (num_questions, width); None for a reader without. precision: autocast type; None for the type of its weights.
    """

    @property
    def width(self) -> int:
        """Width of its embeddings."""
        ...

    def loss(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> Tensor:
        """Return the mean of −log P(a | G_s, q) over the answerable questions, a scalar."""
        ...

    def outputs(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> list[ReaderOutput]:
        """Return its output for each question."""
        ...

    def pretrained_parameters(self) -> Sequence[Tensor]:
        """Return the pretrained parameters, and those of a LoRA: they get the lower learning rate."""
        ...

    def trained_weights(self) -> Mapping[str, Tensor]:
        """Return the weights that training changes."""
        ...


MAX_KEPT = 100_000


class PassageEncoder:
    """Tokenise passages and compute their states with one encoder."""

    def __init__(self, backbone: Backbone) -> None:
        self._model: Any = backbone.model
        self._tokenizer: Any = backbone.tokenizer
        self._tokens: dict[str, list[int]] = {}

    def tokenise_passage(self, passage: Passage, max_tokens: int, *, has_text: bool, after: str = "") -> EncodedPassage:
        """Return a passage as tokens; see `encode_passage`."""
        tokenizer = self._tokenizer
        return encode_passage(
            passage,
            self._tokenised,
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            max_tokens,
            has_text=has_text,
            after=after,
        )

    def ids(self, passage: Passage, max_tokens: int, *, has_text: bool, after: str = "") -> list[int]:
        """Return the passage's token ids alone."""
        return self.tokenise_passage(passage, max_tokens, has_text=has_text, after=after).ids

    def states(
        self, texts: Sequence[Sequence[int]], graph_tokens: Tensor | None, precision: torch.dtype | None
    ) -> tuple[Tensor, Tensor]:
        """Return the last hidden states, (num_texts, length, width) float32, and the attention mask.

        graph_tokens: (num_texts, width), inserted at place 1 as embeddings; None for none.
        """
        embeddings = word_embeddings(self._model)
        device = next(embeddings.parameters()).device
        length = max(map(len, texts))
        ids = torch.zeros(len(texts), length, dtype=torch.int64)
        seen = torch.zeros(len(texts), length, dtype=torch.int64)
        for row, each in enumerate(texts):
            ids[row, : len(each)] = torch.tensor(each)
            seen[row, : len(each)] = 1
        ids, seen = ids.to(device), seen.to(device)
        with torch.autocast(device.type, dtype=precision, enabled=precision is not None):
            embedded = embeddings(ids)
            if graph_tokens is not None:
                embedded = torch.cat(
                    [embedded[:, :1], graph_tokens[:, None].to(embedded.dtype), embedded[:, 1:]], dim=1
                )
                seen = torch.cat([seen[:, :1], seen], dim=1)
            states: Tensor = self._model(inputs_embeds=embedded, attention_mask=seen).last_hidden_state
        return states.float(), seen

    def _tokenised(self, text: str) -> list[int]:
        if text not in self._tokens:
            if len(self._tokens) >= MAX_KEPT:
                self._tokens.clear()
            self._tokens[text] = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return self._tokens[text]


def word_embeddings(encoder: Any) -> nn.Module:
    """Return the word embeddings of an encoder, ours or transformers'."""
    found: nn.Module = (
        encoder.get_input_embeddings()
        if hasattr(encoder, "get_input_embeddings")
        else encoder.embeddings["word_embeddings"]
    )
    return found
