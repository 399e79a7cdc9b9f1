"""Answer with an encoder that was trained with GRIL: it chooses an option, or points at an entity.

`MultipleChoiceReader` reads [graph token; question; option; triples] once per option, and scores the mean of the last
hidden states with a perceptron; softmax runs over a question's options. Ours: the paper asks a causal language model
for the option's letter; this variant can be measured without one. Triples with the option as an end come first.

`PointingReader` is ours, too: the paper does not say how a masked language model answers. A mention is the mean of its
tokens' last hidden states, scored by a perceptron; softmax runs over all mentions of a question, and an entity's
probability is the sum over its mentions. The graph token follows the first token, as an embedding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from ..star.backbone import Backbone
from ..words import fold_spelling
from .network import group_softmax
from .passages import Passage, PassageEncoder, ReaderOutput, ReaderQuestion


class EncoderReader(nn.Module):
    """A reader on an encoder: backbone, with its tokenizer. has_text: whether the passage contains triples, or names
    alone.
    """

    def __init__(self, backbone: Backbone, max_tokens: int, *, has_text: bool) -> None:
        super().__init__()
        self.encoder = backbone.model
        self.backbone = backbone
        self.max_tokens, self.has_text = max_tokens, has_text
        self.inner = nn.Linear(backbone.dimension, backbone.dimension)
        self.out = nn.Linear(backbone.dimension, 1)
        self._texts = PassageEncoder(backbone)

    @property
    def width(self) -> int:
        """Width of its embeddings."""
        return self.backbone.dimension

    def pretrained_parameters(self) -> Sequence[Tensor]:
        """Return the encoder's parameters."""
        return list(self.encoder.parameters())

    def trained_weights(self) -> Mapping[str, Tensor]:
        """Return all weights."""
        return self.state_dict()


class MultipleChoiceReader(EncoderReader):
    """Chooses among the options of a question by the mean state of the passage and each option."""

    def forward(
        self,
        passages: Sequence[Passage],
        options: Sequence[Sequence[str]],
        graph_tokens: Tensor | None = None,
        precision: torch.dtype | None = None,
    ) -> list[Tensor]:
        """Return the log-probability of each option of each question. graph_tokens: (num_passages, width)."""
        rows = [self._ids(passage, option) for passage, some in zip(passages, options, strict=True) for option in some]
        sizes = [len(some) for some in options]
        tokens = None
        if graph_tokens is not None:
            tokens = graph_tokens.repeat_interleave(torch.tensor(sizes, device=graph_tokens.device), dim=0)
        states, seen = self._texts.states(rows, tokens, precision)
        weights = seen[:, :, None].to(states.dtype)
        pooled = (states * weights).sum(dim=1) / weights.sum(dim=1)
        logits = self.out(torch.tanh(self.inner(pooled))).squeeze(1)
        return [each.log_softmax(dim=0) for each in logits.split(sizes)]

    def loss(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> Tensor:
        """Return the mean of −log P(right option)."""
        found = self._log_probabilities(questions, tokens, precision)
        return -torch.stack(
            [each[question.wanted.right] for each, question in zip(found, questions, strict=True)]
        ).mean()

    def outputs(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> list[ReaderOutput]:
        """Return the probability of each option."""
        outputs = []
        for each, question in zip(self._log_probabilities(questions, tokens, precision), questions, strict=True):
            is_right = np.arange(len(question.wanted.options)) == question.wanted.right
            outputs.append(ReaderOutput(each.exp().cpu().numpy(), is_right, 1))
        return outputs

    def _log_probabilities(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None
    ) -> list[Tensor]:
        options = [each.wanted.options for each in questions]
        found: list[Tensor] = self([each.passage for each in questions], options, tokens, precision)
        return found

    def _ids(self, passage: Passage, option: str) -> list[int]:
        name = fold_spelling(option)
        about = {place for place, each in enumerate(passage.names) if each is not None and fold_spelling(each) == name}
        triples = sorted(passage.triples, key=lambda each: not about & {each[0], each[2]})
        ordered = replace(passage, triples=tuple(triples), candidates=())
        return self._texts.ids(ordered, self.max_tokens - 1, has_text=self.has_text, after=option)


CERTAIN = 1e-9
"""Keeps log P finite."""


@dataclass(frozen=True, slots=True)
class PointingOutput:
    """probabilities, question_of: (num_candidates,), the candidates of one question after another. Candidates that are
    not in the text have probability 0.
    """

    probabilities: Tensor
    question_of: Tensor


class PointingReader(EncoderReader):
    """Points at candidates by the states of their mentions in the passage."""

    def forward(
        self, passages: Sequence[Passage], graph_tokens: Tensor | None = None, precision: torch.dtype | None = None
    ) -> PointingOutput:
        """Return the probability of each candidate. graph_tokens: (num_passages, width); None for a reader without
        them.
        """
        texts = [
            self._texts.tokenise_passage(passage, self.max_tokens - 1, has_text=self.has_text) for passage in passages
        ]
        states, _ = self._texts.states([text.ids for text in texts], graph_tokens, precision)
        shift = 0 if graph_tokens is None else 1
        firsts = [0]
        for passage in passages:
            firsts.append(firsts[-1] + len(passage.candidates))
        rows: list[int] = []
        tokens: list[int] = []
        of_mention: list[int] = []
        candidates: list[int] = []
        for row, text in enumerate(texts):
            for candidate, start, after in text.mentions:
                rows += [row] * (after - start)
                tokens += range(start + shift, after + shift)
                of_mention += [len(candidates)] * (after - start)
                candidates.append(firsts[row] + candidate)
        sizes = [len(passage.candidates) for passage in passages]
        question_of = torch.repeat_interleave(torch.arange(len(passages)), torch.tensor(sizes)).to(states.device)
        probabilities = states.new_zeros(firsts[-1])
        mention_of = states.new_tensor(of_mention, dtype=torch.int64)
        spans = states.new_zeros(len(candidates), states.shape[2]).index_add(0, mention_of, states[rows, tokens])
        spans = spans / torch.bincount(mention_of)[:, None]
        logits = self.out(torch.tanh(self.inner(spans))).squeeze(1)
        of_candidate = states.new_tensor(candidates, dtype=torch.int64)
        shares = group_softmax(logits, question_of[of_candidate], len(passages))
        probabilities = probabilities.index_add(0, of_candidate, shares)
        return PointingOutput(probabilities, question_of)

    def loss(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> Tensor:
        """Return `reading_loss`."""
        pointed = self([each.passage for each in questions], tokens, precision)
        right = [is_right for each in questions for is_right in each.is_right]
        is_right = pointed.probabilities.new_tensor(right)
        return reading_loss(pointed, is_right, len(questions))

    def outputs(
        self, questions: Sequence[ReaderQuestion], tokens: Tensor | None, precision: torch.dtype | None = None
    ) -> list[ReaderOutput]:
        """Return the probability of each candidate."""
        pointed = self([each.passage for each in questions], tokens, precision)
        scores, question_of = pointed.probabilities.cpu().numpy(), pointed.question_of.cpu().numpy()
        return [
            ReaderOutput(scores[question_of == place], np.array(each.is_right, dtype=np.bool_), each.num_answers)
            for place, each in enumerate(questions)
        ]


def reading_loss(pointed: PointingOutput, is_right: Tensor, num_questions: int) -> Tensor:
    """Return the mean of −log P(a | G_s, q), P the sum over the right candidates.

    is_right: (num_candidates,). Questions without a right candidate in the text do not count, as no reader could point
    at one. Returns 0 without a gradient if no question counts.
    """
    right = pointed.probabilities * is_right
    there = right.new_zeros(num_questions).index_add(0, pointed.question_of, (right.detach() > 0).to(right.dtype)) > 0
    total = right.new_zeros(num_questions).index_add(0, pointed.question_of, right)
    return -(total[there].clamp(min=CERTAIN).log()).sum() / max(int(there.sum()), 1)
