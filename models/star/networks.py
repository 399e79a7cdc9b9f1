"""Define STAR's networks, the dual encoder and the cross-attentive scorer, and their losses.

A path is encoded hop by hop. The encoder sees each hop's words once, whatever paths contain it, and a small network
composes them, so that all paths of a graph can be scored. The composition is ours, not from a paper:

    z_1 = h_1,   z_l = norm( norm(z_(l−1) + h_l) + MLP([z_(l−1); h_l; z_(l−1) ∘ h_l]) )
    stop(q, p)   = e^a · cos(q, z_L) + (L − 1) · (b + w·q)          the path, followed by END
    extend(q, p) = e^a · cos(q, norm(z_L + MLP'(z_L))) + (L − 1) · (b + w·q)    the path as a prefix
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from .backbone import Backbone, attend, hidden_states
from .batches import CrossBatch, DualBatch, PairBatch, TextBatch
from .examples import PathLevel

INITIAL_SCALE = 20.0
INITIAL_HOP_COST = -3.0


@dataclass(frozen=True, slots=True)
class PathStates:
    """Composed paths: states, (num_paths, dimension) of unit length, and num_hops, (num_paths,)."""

    states: Tensor
    num_hops: Tensor


class DualEncoder(nn.Module):
    """Scores paths by the cosine of their encoding with the question's; see the module's formula."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        dimension = backbone.dimension
        self.encoder = backbone.model
        self.precision: torch.dtype | None = None
        self.compose = _mlp(3 * dimension, dimension)
        self.promise = _mlp(dimension, dimension)
        self.log_scale = nn.Parameter(torch.tensor(math.log(INITIAL_SCALE)))
        self.hop_cost = nn.Linear(dimension, 1)
        nn.init.zeros_(self.hop_cost.weight)
        nn.init.constant_(self.hop_cost.bias, INITIAL_HOP_COST)

    def encode(self, texts: TextBatch) -> Tensor:
        """Return the mean of each text's hidden states at unit length, (num_texts, dimension)."""
        hidden = hidden_states(self.encoder, texts.ids, texts.mask, self.precision)
        return normalize(torch.einsum("bld,bl->bd", hidden, texts.mask.float()))  # the sum has the mean's direction

    def step(self, before: Tensor, hop: Tensor) -> Tensor:
        """Return the states of paths extended by one hop; all (num_paths, dimension)."""
        change = self.compose(torch.cat([before, hop, before * hop], dim=1))
        return normalize(normalize(before + hop) + change)

    def paths(self, hops: Tensor, levels: Sequence[PathLevel]) -> PathStates:
        """Return the states of all paths of a trie, level by level; hops: (num_hops, dimension)."""
        found: list[Tensor] = []
        lengths: list[Tensor] = []
        for depth, level in enumerate(levels, start=1):
            last = hops[torch.from_numpy(level.hops).to(hops.device)]
            parents = torch.from_numpy(level.parents).to(hops.device)
            found.append(last if depth == 1 else self.step(found[-1][parents], last))
            lengths.append(torch.full_like(parents, depth))
        return PathStates(torch.cat(found), torch.cat(lengths))

    def encode_prefixes(self, states: Tensor) -> Tensor:
        """Return the encodings of paths as prefixes, unit vectors, (num_paths, dimension)."""
        return normalize(states + self.promise(states))

    def hop_costs(self, questions: Tensor, num_hops: Tensor) -> Tensor:
        """Return (L − 1) · (b + w·q) for pairs: questions (num_pairs, dimension), num_hops (num_pairs,)."""
        cost: Tensor = self.hop_cost(questions)[:, 0]
        return (num_hops - 1) * cost

    def forward(self, batch: DualBatch) -> tuple[Tensor, Tensor]:
        """Return stop and extend, (num_pairs,) each."""
        questions = self.encode(batch.questions)[batch.owners]
        hops = torch.cat([self.encode(part) for part in batch.hops])[batch.hop_rows]
        paths = self.paths(hops, batch.levels)
        cost = self.hop_costs(questions, paths.num_hops[batch.paths])
        scale = self.log_scale.exp()
        stop = scale * (paths.states[batch.paths] * questions).sum(dim=1) + cost
        extend = scale * (self.encode_prefixes(paths.states)[batch.paths] * questions).sum(dim=1) + cost
        return stop, extend


def _mlp(inputs: int, outputs: int) -> nn.Sequential:
    """A network that starts as zero."""
    last = nn.Linear(outputs, outputs)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(inputs, outputs), nn.GELU(), last)


@dataclass(frozen=True, slots=True)
class SpecialTokenAttention:
    """The special tokens' attention: question, of `[QSP]` over the question's tokens, and path, of `[PSP]` over the
    path's; (num_pairs, length) each, 0 outside, rows sum to 1.
    """

    question: Tensor
    path: Tensor


class CrossAttentiveScorer(nn.Module):
    """Scores a question with a path:

        h'_QSP  = h_QSP + attend(h_QSP, H_question)
        h'_PSP  = h_PSP + attend(h_PSP, H_path)
        s(q, p) = sigmoid( FFN( [h_CLS ; h'_QSP ; h'_PSP] ) )

    W_Q and W_K are shared by both reads (our reading: the paper speaks of two linear maps). H_path starts after `[PSP]`
    and includes the topic entity and `[END]`.
    """

    def __init__(self, backbone: Backbone, *, key_dimension: int | None = None, dropout: float = 0.1) -> None:
        super().__init__()
        dimension = backbone.dimension
        self.encoder = backbone.model
        self.precision: torch.dtype | None = None
        self.query_map = nn.Linear(dimension, key_dimension or dimension, bias=False)
        self.key_map = nn.Linear(dimension, key_dimension or dimension, bias=False)
        self.feed_forward = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(3 * dimension, dimension),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(dimension, 1),
        )

    def forward(self, batch: CrossBatch) -> Tensor:
        """Return the logits of s, (num_pairs,)."""
        return torch.cat([self.read(part)[0] for part in batch.parts])[batch.rows]

    def read(self, batch: PairBatch) -> tuple[Tensor, SpecialTokenAttention]:
        """Return the logits of s, (num_pairs,), and the attention behind them."""
        text = batch.text
        hidden = hidden_states(self.encoder, text.ids, text.mask, self.precision)
        row = torch.arange(len(hidden)).to(hidden.device)
        question, path = hidden[row, batch.question_at], hidden[row, batch.path_at]
        from_question, question_weights = attend(question, hidden, batch.is_question, self.query_map, self.key_map)
        from_path, path_weights = attend(path, hidden, batch.is_path, self.query_map, self.key_map)
        joined = torch.cat([hidden[:, 0], question + from_question, path + from_path], dim=1)
        logits = self.feed_forward(joined)[:, 0].float()
        return logits, SpecialTokenAttention(question_weights, path_weights)


def path_weighted_contrastive_loss(scores: Tensor, is_positive: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """Return STAR's loss (section 4.2); our reading, as the text has no formula.

        L = Σ_(p+) w(p+) · −log( e^{s(p+)/τ} / ( e^{s(p+)/τ} + Σ_(p−) w(p−) · e^{s(p−)/τ} ) )

    scores: s, (num_paths,). is_positive: (num_paths,) bool. weights: w, (num_paths,), all 1 without path weights.
    temperature: τ. Returns a scalar, 0 without a positive. Deviations: the sum over the positives is their mean, so
    that a question with many paths counts as much as one with a single path.
    """
    logits = scores / temperature
    log_weights = weights.clamp(min=torch.finfo(weights.dtype).tiny).log()  # weight 0 has gradient 0
    negatives = torch.logsumexp((logits + log_weights).masked_fill(is_positive, float("-inf")), dim=0)
    each = torch.logaddexp(logits, negatives) - logits
    return (each * weights)[is_positive].sum() / is_positive.sum().clamp(min=1)


def listwise_loss(scores: Tensor, shares: Tensor) -> Tensor:
    """Return the cross-entropy of the softmax over all candidates with their target shares; ours, not from a paper.

        L = −Σ_p t(p) · log( e^{s(p)} / Σ_p' e^{s(p')} )

    Unlike the contrastive loss it also orders the positives among themselves. scores: s, (num_paths,). shares: t,
    (num_paths,), summing to 1, or all 0, which makes L 0.
    """
    return -(shares * scores.log_softmax(dim=0)).sum()
