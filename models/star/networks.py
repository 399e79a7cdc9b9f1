"""Define STAR's networks, the dual encoder and the cross-attentive scorer, their losses, and the model of a checkpoint.

A path is encoded hop by hop. The encoder sees each hop's words once, whatever paths contain it, and a small network
composes them, so that all paths of a graph can be scored. The composition is ours, not from a paper:

    z_1 = h_1,   z_l = norm( norm(z_(l−1) + h_l) + MLP([z_(l−1); h_l; z_(l−1) ∘ h_l]) )
    stop(q, p)   = e^a · cos(q, z_L) + (L − 1) · (b + w·q)          the path, followed by END
    extend(q, p) = e^a · cos(q, norm(z_L + MLP'(z_L))) + (L − 1) · (b + w·q)    the path as a prefix
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..splitting import BatchSplitter
from ..text.vectors import LRUCache
from ..text.verbalise import Hop, verbalise_hop
from ..training.checkpoint import check_checkpoint, read_weights, translate_read_errors, write_weights
from .backbone import Backbone, attend, device_of, hidden_states, open_stored_backbone, write_backbone_description
from .batches import (
    CachedTokenizer,
    CrossBatch,
    DualBatch,
    PairBatch,
    TextBatch,
    cross_batch,
    path_words,
    split_batches,
)
from .config import StarDescription
from .examples import Floats, PathLevel

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


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint in memory, ready to score. `cross` is None if the scorer is `similarity`."""

    description: StarDescription
    dual: DualEncoder
    dual_texts: CachedTokenizer
    cross: CrossAttentiveScorer | None
    cross_texts: CachedTokenizer | None


@dataclass(frozen=True, slots=True)
class Network:
    """A trained network with its encoder."""

    backbone: Backbone
    network: nn.Module

    def write(self, part: Path) -> None:
        """Write the files of a part."""
        write_backbone_description(self.backbone, part)
        write_weights(self.network.state_dict(), part)


def read_checkpoint(folder: Path, device: str = "cpu", precision: torch.dtype = torch.float32) -> Checkpoint:
    """Return a checkpoint after checking its hashes; raise `BadCheckpointError` if one is damaged.

    precision: the type of the encoders' weights; the layers on top stay float32.
    """
    description = check_checkpoint(folder, StarDescription, _parts)
    with translate_read_errors(folder):
        dual_backbone = open_stored_backbone(description.encoder, folder / "dual")
        dual = DualEncoder(dual_backbone)
        dual.load_state_dict(read_weights(folder / "dual"))
        cross, cross_texts = None, None
        if description.scorer == "cross":
            backbone = open_stored_backbone(description.encoder, folder / "cross")
            cross = CrossAttentiveScorer(backbone)
            cross.load_state_dict(read_weights(folder / "cross"))
            cross_texts = CachedTokenizer(backbone.tokenizer)
    for network in (dual, cross):
        if network is not None:
            network.eval().to(device)
            network.encoder.to(precision)
    return Checkpoint(description, dual, CachedTokenizer(dual_backbone.tokenizer), cross, cross_texts)


def _parts(description: StarDescription) -> tuple[str, ...]:
    return StarDescription.parts if description.scorer == "cross" else StarDescription.parts[:1]


HopSequence = tuple[Hop, ...]
MAX_KEPT_PATHS = 100_000
MAX_KEPT_TEXTS = 50_000
TEXTS_AT_ONCE = 256
PATHS_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True)
class PairAttention:
    """The attention of one pair's special tokens: token strings with weights that sum to 1."""

    score: float
    question: tuple[tuple[str, float], ...]
    path: tuple[tuple[str, float], ...]


class StarModel:
    """Scores paths with a checkpoint. Deterministic up to the order in which texts are batched (the last digits).

    Batches that do not fit into memory are split (`BatchSplitter`). `encoding_s` counts the seconds spent in encoders.
    Threads take turns.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.encoding_s = 0.0
        self._device = device_of(checkpoint.dual)
        self._turn = threading.RLock()
        self._of_texts, self._of_pairs, self._of_paths = BatchSplitter(), BatchSplitter(), BatchSplitter(PATHS_AT_ONCE)
        self._texts: LRUCache[str, Tensor] = LRUCache(MAX_KEPT_TEXTS)
        self._paths: LRUCache[HopSequence, Tensor] = LRUCache(MAX_KEPT_PATHS)

    def encode_ahead(self, questions: Iterable[str], paths: Iterable[HopSequence]) -> None:
        """Encode what is not cached in a few batches: questions, hops, and paths composed of them."""
        with self._turn:
            missing = [path for path in dict.fromkeys(paths) if path not in self._paths]
            hops = {hop for path in missing for hop in path}
            self._encode_texts([*questions, *sorted(map(self._hop_text, hops))])
            self._compose(missing)

    def _encode_texts(self, texts: Sequence[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._texts]
        started = time.perf_counter()
        for at in range(0, len(missing), TEXTS_AT_ONCE):
            some = missing[at : at + TEXTS_AT_ONCE]
            parts, rows = split_batches(self.checkpoint.dual_texts, some, parts=-(-len(some) // 64))
            with torch.inference_mode():
                encoded = torch.cat([self._of_texts(part, self._encode) for part in parts])
            for text, row in zip(some, rows.tolist(), strict=True):
                self._texts[text] = encoded[row].clone()
        self.encoding_s += time.perf_counter() - started

    def _compose(self, paths: Iterable[HopSequence]) -> dict[HopSequence, Tensor]:
        """Return the state of each path, composed from its parent's unless cached."""
        wanted = dict.fromkeys(paths)
        states = {path: self._paths[path] for path in wanted if path in self._paths}
        missing: dict[int, list[HopSequence]] = {}
        unknown = [path for path in wanted if path not in states]
        for part in dict.fromkeys(path[:length] for path in unknown for length in range(1, len(path) + 1)):
            if part in self._paths:
                states[part] = self._paths[part]
            else:
                missing.setdefault(len(part), []).append(part)
        for _, some in sorted(missing.items()):
            with torch.inference_mode():
                composed = self._of_paths(some, lambda part: self._extend(part, states))
            for path, state in zip(some, composed, strict=True):
                states[path] = state
                self._paths[path] = state.clone()
        return states

    def _extend(self, paths: Sequence[HopSequence], states: Mapping[HopSequence, Tensor]) -> Tensor:
        """Return the states of paths of one length, composed from their parents'."""
        last = torch.stack([self._text(self._hop_text(path[-1])) for path in paths])
        if len(paths[0]) == 1:
            return last
        return self.checkpoint.dual.step(torch.stack([states[path[:-1]] for path in paths]), last)

    def _hop_text(self, hop: Hop) -> str:
        return verbalise_hop(hop)

    def _encode(self, texts: TextBatch) -> Tensor:
        return self.checkpoint.dual.encode(texts.to(self._device))

    def _text(self, text: str) -> Tensor:
        self._encode_texts([text])
        return self._texts[text]

    def dual(self, question: str, paths: Sequence[HopSequence]) -> tuple[Floats, Floats]:
        """Return stop and extend of the dual encoder, (num_paths,) each; `question` has no topic mention."""
        network = self.checkpoint.dual
        with self._turn, torch.inference_mode():
            composed = self._compose(paths)
            vector = self._text(question)
            scale = network.log_scale.exp()

            def scored(some: Sequence[HopSequence]) -> Tensor:
                states = torch.stack([composed[path] for path in some])
                num_hops = torch.tensor([len(path) for path in some]).to(self._device)
                cost = network.hop_costs(vector.expand(len(some), -1), num_hops)
                stop = scale * (states @ vector) + cost
                extend = scale * (network.encode_prefixes(states) @ vector) + cost
                return torch.stack([stop, extend], dim=1).float()

            both = self._of_paths(paths, scored).cpu().numpy()
        return both[:, 0], both[:, 1]

    def cross(self, pairs: Sequence[tuple[str, str, HopSequence]]) -> Floats:
        """Return the logits of the cross-attentive scorer, (num_pairs,), for (question, mention of the topic, path).

        Equal pairs are computed once.
        """
        texts = self.checkpoint.cross_texts
        if texts is None or not pairs:
            return np.zeros(len(pairs), dtype=np.float32)
        read = [(question, path_words(mention, path)) for question, mention, path in pairs]
        row = {pair: at for at, pair in enumerate(dict.fromkeys(read))}
        with self._turn, torch.inference_mode():
            started = time.perf_counter()
            batch = cross_batch(texts, list(row))
            logits = torch.cat([self._of_pairs(part, self._read) for part in batch.parts])
            scores: Floats = logits.cpu()[batch.rows].numpy()[[row[pair] for pair in read]]
            self.encoding_s += time.perf_counter() - started
        return scores

    def _read(self, pairs: PairBatch) -> Tensor:
        assert self.checkpoint.cross
        return self.checkpoint.cross.read(pairs.to(self._device))[0].float()

    def attention(self, question: str, mention: str, path: HopSequence) -> PairAttention:
        """Return the attention of the cross-attentive scorer; raise `ValueError` if the checkpoint has none."""
        network, texts = self.checkpoint.cross, self.checkpoint.cross_texts
        if network is None:
            raise ValueError("the checkpoint has no cross-attentive scorer")
        assert texts
        tokens, at = texts.pair(question, path_words(mention, path))
        batch = texts.pairs([(tokens, at)])
        with torch.inference_mode():
            logits, attention = network.read(batch.to(self._device))
        strings = [str(each) for each in texts.tokenizer.convert_ids_to_tokens(list(tokens))]
        return PairAttention(
            float(logits.sigmoid()[0]),
            _pair_weights(strings, batch.is_question[0], attention.question[0]),
            _pair_weights(strings, batch.is_path[0], attention.path[0]),
        )


def _pair_weights(strings: Sequence[str], chosen: Tensor, weights: Tensor) -> tuple[tuple[str, float], ...]:
    return tuple((strings[int(at)], float(weights[at])) for at in torch.nonzero(chosen)[:, 0].tolist())
