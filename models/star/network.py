"""STAR's networks, the dual encoder and the cross-attentive scorer, what they read, and the model of a checkpoint.

A path is encoded hop by hop. The encoder sees each hop's words once, whatever paths contain it, and a small network
composes them, so that all paths of a graph can be scored. The composition is ours, not from a paper:

    z_1 = h_1,   z_l = norm( norm(z_(l−1) + h_l) + MLP([z_(l−1); h_l; z_(l−1) ∘ h_l]) )
    stop(q, p)   = e^a · cos(q, z_L) + (L − 1) · (b + w·q)          the path, followed by END
    extend(q, p) = e^a · cos(q, norm(z_L + MLP'(z_L))) + (L − 1) · (b + w·q)    the path as a prefix
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..calibration import lower_scores_except
from ..kinds import CheckpointOpenOptions, check_checkpoint, read_weights, translate_read_errors, write_weights
from ..placement import AdaptiveBatchSize, count_call, move_batch
from ..text import verbalise_directed_hop
from ..text.bert import (
    Backbone,
    compute_hidden_states,
    open_pretrained,
    open_stored_backbone,
    pad_token_ids,
    write_backbone_description,
)
from ..text.vectors import LRUCache
from ..training import get_network_device
from . import SPECIAL_TOKENS, StarDescription
from .shipped import (
    ENCODER,
    KEYS,
    MAX_QUESTION_TOKENS,
    QUESTION_AT,
    Floats,
    HopSequence,
    PairScorer,
    SpecialTokenIds,
    load_shipped_weights,
)

Ints = npt.NDArray[np.int64]
Tokens = tuple[int, ...]

MAX_KEPT_TOKENS = 200_000
PairTokens = tuple[Tokens, int]
"""The ids of a pair, and the place of `[PSP]`, see `SpecialTokenIds`."""


@dataclass(frozen=True, slots=True)
class DualBatch:
    """Questions, the distinct hops of their candidates, and which question is scored with which path.

    paths: (num_paths, most hops), the rows in `hops` of each path's hops, then −1. rows and owners, (num_pairs,): the
    row of the path, the row of the question.
    """

    questions: Sequence[Tokens]
    hops: Sequence[Tokens]
    paths: Tensor
    rows: Tensor
    owners: Tensor


class CachedTokenizer:
    """A tokenizer with a cache of the ids of `MAX_KEPT_TOKENS` texts."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._kept: LRUCache[str, Tokens] = LRUCache(MAX_KEPT_TOKENS)
        self.ids = SpecialTokenIds(
            _id(tokenizer.cls_token_id, tokenizer.bos_token_id),
            _id(tokenizer.sep_token_id, tokenizer.eos_token_id),
            *(_id(tokenizer.convert_tokens_to_ids(token)) for token in SPECIAL_TOKENS),
        )
        self._unknown = _id(tokenizer.unk_token_id, self.ids.last)

    def tokens(self, text: str) -> Tokens:
        """Return the ids of a text without special tokens; at least one."""
        if text not in self._kept:
            ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            self._kept[text] = tuple(ids) or (self._unknown,)
        return self._kept[text]

    def encode_single(self, text: str) -> Tokens:
        """Return the ids of a text as the only input of an encoder."""
        return (self.ids.first, *self.tokens(text)[:MAX_QUESTION_TOKENS], self.ids.last)

    def pair(self, question: str, path: str) -> PairTokens:
        return self.ids.join(self.tokens(question), self.tokens(path))


def _id(*candidates: Any) -> int:
    return int(next(candidate for candidate in candidates if candidate is not None))


T = TypeVar("T")
PART = 64
"""Texts that the dual encoder reads together; pairs are half as many. On CUDA more, as many as its memory holds, but
not in training, where each part draws its own dropout."""


def _by_length(
    network: Any, size: int, items: Sequence[T], length: Callable[[T], int], compute: Callable[[Sequence[T]], Tensor]
) -> Tensor:
    """Return what is computed of each item, (num_items, …), some of similar length at a time (see `PART`)."""
    order = sorted(range(len(items)), key=lambda place: length(items[place]))
    grows = get_network_device(network).type == "cuda" and not torch.is_grad_enabled()
    batch = network.batch if grows else AdaptiveBatchSize(size, most=size)
    parts = batch.run([items[place] for place in order], compute)
    return torch.cat(parts)[torch.argsort(torch.tensor(order))]


def compute_attention(query: Tensor, states: Tensor, mask: Tensor, query_map: nn.Linear, key_map: nn.Linear) -> Tensor:
    """Attend from the query to the states (STAR, section 4.1).

        attend(h, S) = softmax( (h·W_Q)(S·W_K)ᵀ / √d_k ) · S

    query: h, (batch, d). states: S, (batch, length, d). mask: (batch, length) bool, true for states that count; at
    least one per row. query_map, key_map: W_Q and W_K, d → d_k, without bias. Returns (batch, d). Deviations: none; the
    values are the states themselves.
    """
    keys = key_map(states)
    logits = torch.einsum("bk,blk->bl", query_map(query), keys) / keys.shape[-1] ** 0.5
    weights = logits.float().masked_fill(~mask, float("-inf")).softmax(dim=1)
    return torch.einsum("bl,bld->bd", weights.to(states.dtype), states)


INITIAL_SCALE = 20.0
INITIAL_HOP_COST = -3.0


class DualEncoder(nn.Module):
    """Scores paths by the cosine of their encoding with the question's; see the module's formula."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        dimension = backbone.dimension
        self.encoder = backbone.model
        self.batch = AdaptiveBatchSize(PART)
        self.compose = _mlp(3 * dimension, dimension)
        self.promise = _mlp(dimension, dimension)
        self.log_scale = nn.Parameter(torch.tensor(math.log(INITIAL_SCALE)))
        self.hop_cost = nn.Linear(dimension, 1)
        nn.init.zeros_(self.hop_cost.weight)
        nn.init.constant_(self.hop_cost.bias, INITIAL_HOP_COST)

    def encode(self, texts: Sequence[Tokens]) -> Tensor:
        """Return the mean of each text's hidden states at unit length, (num_texts, dimension)."""
        return _by_length(self, PART, texts, len, self._encode)

    def _encode(self, texts: Sequence[Tokens]) -> Tensor:
        ids, mask = move_batch(pad_token_ids(texts), get_network_device(self))
        hidden = compute_hidden_states(self.encoder, ids, mask)
        return normalize(torch.einsum("bld,bl->bd", hidden, mask.float()))  # the sum has the mean's direction

    def step(self, before: Tensor, hop: Tensor) -> Tensor:
        """Return the states of paths extended by one hop; all (num_paths, dimension)."""
        change = self.compose(torch.cat([before, hop, before * hop], dim=1))
        return normalize(normalize(before + hop) + change)

    def compose_paths(self, hops: Tensor, paths: Tensor) -> Tensor:
        """Return the states of paths, (num_paths, dimension) of unit length.

        hops: (num_hops, dimension). paths: (num_paths, most hops), rows of `hops`, then −1.
        """
        states = hops[paths[:, 0]]
        for column in paths.T[1:]:
            longer = torch.nonzero(column >= 0).squeeze(1)
            extended = self.step(states[longer], hops[column[longer]])
            states = states.index_copy(0, longer, extended.to(states.dtype))
        return states

    def encode_prefixes(self, states: Tensor) -> Tensor:
        """Return the encodings of paths as prefixes, unit vectors, (num_paths, dimension)."""
        return normalize(states + self.promise(states))

    def score(self, questions: Tensor, states: Tensor, prefixes: Tensor, num_hops: Tensor) -> tuple[Tensor, Tensor]:
        """Return stop and extend of pairs, (num_pairs,) each; questions, states, prefixes: (num_pairs, dimension)."""
        cost = (num_hops - 1) * self.hop_cost(questions)[:, 0]
        scale = self.log_scale.exp()
        return scale * (states * questions).sum(dim=1) + cost, scale * (prefixes * questions).sum(dim=1) + cost

    def forward(self, batch: DualBatch) -> tuple[Tensor, Tensor]:
        """Return stop and extend, (num_pairs,) each."""
        questions = self.encode(batch.questions)[batch.owners]
        paths, rows = (each.to(questions.device) for each in (batch.paths, batch.rows))
        states, num_hops = self.compose_paths(self.encode(batch.hops), paths), (paths >= 0).sum(dim=1)
        return self.score(questions, states[rows], self.encode_prefixes(states)[rows], num_hops[rows])


def pad_paths(paths: Sequence[Sequence[int]]) -> Tensor:
    """Return paths as `DualEncoder.compose_paths` takes them."""
    return torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, paths)), batch_first=True, padding_value=-1)


def _mlp(inputs: int, outputs: int) -> nn.Sequential:
    last = nn.Linear(outputs, outputs)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(inputs, outputs), nn.GELU(), last)


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
        self.batch = AdaptiveBatchSize(PART // 2)
        self.query_map = nn.Linear(dimension, key_dimension or dimension, bias=False)
        self.key_map = nn.Linear(dimension, key_dimension or dimension, bias=False)
        self.feed_forward = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(3 * dimension, dimension),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(dimension, 1),
        )

    def forward(self, pairs: Sequence[PairTokens]) -> Tensor:
        """Return the logits of s, (num_pairs,)."""
        return _by_length(self, PART // 2, pairs, lambda pair: len(pair[0]), self._read)

    def _read(self, pairs: Sequence[PairTokens]) -> Tensor:
        places = torch.tensor([at for _, at in pairs])
        ids, mask, path_at = move_batch(
            [*pad_token_ids([tokens for tokens, _ in pairs]), places], get_network_device(self)
        )
        hidden = compute_hidden_states(self.encoder, ids, mask)
        row, place = (torch.arange(size, device=hidden.device) for size in hidden.shape[:2])
        is_question = (place > QUESTION_AT) & (place < path_at[:, None] - 1)
        is_path = (place > path_at[:, None]) & (place < mask.sum(dim=1, keepdim=True) - 1)
        question, path = hidden[:, QUESTION_AT], hidden[row, path_at]
        maps = (self.query_map, self.key_map)
        from_question = compute_attention(question, hidden, is_question, *maps)
        from_path = compute_attention(path, hidden, is_path, *maps)
        joined = torch.cat([hidden[:, 0], question + from_question, path + from_path], dim=1)
        return self.feed_forward(joined)[:, 0].float()


def mix_shortlist_scores(stop: Floats, cross: Floats, rows: Ints, mix: float) -> Floats:
    """Return the scores of all paths. stop: (num_paths,). cross: (num_shortlisted,), of the paths at `rows`. mix: λ."""
    scores = stop.copy()
    scores[rows] = (1 - mix) * stop[rows] + mix * cross
    lower_scores_except(scores, rows)
    return scores


def write_network(backbone: Backbone, network: nn.Module, part: Path) -> None:
    write_backbone_description(backbone, part)
    write_weights(network.state_dict(), part)


class _CrossReader(PairScorer):
    """Reads pairs with a network, such as a checkpoint's."""

    def __init__(self, network: CrossAttentiveScorer, texts: CachedTokenizer) -> None:
        super().__init__()
        self.network, self.texts = network, texts

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        count_call("batches")
        with torch.inference_mode():
            scores: Floats = self.network([self.texts.pair(*pair) for pair in pairs]).cpu().numpy()
        return scores


def open_shipped_scorer(device: str, precision: torch.dtype) -> _CrossReader:
    """Return the shipped scorer in PyTorch, for a GPU."""
    backbone = open_pretrained(ENCODER, SPECIAL_TOKENS)
    network = CrossAttentiveScorer(backbone, key_dimension=KEYS)
    load_shipped_weights(network)
    network.eval().to(device).encoder.to(precision)
    return _CrossReader(network, CachedTokenizer(backbone.tokenizer))


def open_model(folder: Path, opening: CheckpointOpenOptions) -> StarModel:
    """Return a checkpoint, ready to score, after checking its hashes; the layers on top of its encoders stay float32.

    Raises `BadCheckpointError` if a file is damaged.
    """
    description = check_checkpoint(folder, StarDescription)
    found: dict[str, tuple[Any, CachedTokenizer]] = {}
    with translate_read_errors(folder):
        for part in description.networks:
            backbone = open_stored_backbone(description.encoder, folder / part)
            weights = read_weights(folder / part)
            network: Any = DualEncoder(backbone)
            if part == "cross":
                network = CrossAttentiveScorer(backbone, key_dimension=len(weights["key_map.weight"]))
            network.load_state_dict(weights)
            network.eval().to(opening.device).encoder.to(opening.dtype)
            found[part] = network, CachedTokenizer(backbone.tokenizer)
    return StarModel(description, *found["dual"], _CrossReader(*found["cross"]) if "cross" in found else None)


MAX_KEPT_PATHS = 100_000
MAX_KEPT_TEXTS = 50_000
PATHS_AT_ONCE = 16_384


class StarModel:
    """Scores paths with a checkpoint's dual encoder. Deterministic up to the order in which texts are batched (the last
    digits).

    reader: None if the dual encoder alone was trained. Threads take turns.
    """

    def __init__(
        self, description: StarDescription, network: DualEncoder, texts: CachedTokenizer, reader: _CrossReader | None
    ) -> None:
        self.description, self.network, self.tokenizer, self.reader = description, network, texts, reader
        self._turn = threading.RLock()
        self._texts: LRUCache[str, Tensor] = LRUCache(MAX_KEPT_TEXTS)
        self._paths: LRUCache[HopSequence, Tensor] = LRUCache(MAX_KEPT_PATHS)

    def score(self, asked: Sequence[tuple[str, Sequence[HopSequence]]]) -> list[tuple[Floats, Floats]]:
        """Return stop and extend of the paths for each question without its topic's mention, (num_paths,) each.

        What is not cached is encoded in a few batches: questions, hops, and paths composed of them.
        """
        with self._turn, torch.inference_mode():
            paths = list(dict.fromkeys(path for _, some in asked for path in some))
            hops = {hop for path in paths if path not in self._paths for hop in path}
            texts = self._encode([*(question for question, _ in asked), *sorted(map(verbalise_directed_hop, hops))])
            states = self._compose(paths, texts)
            return [self._score(texts[question], some, states) for question, some in asked]

    def _encode(self, texts: Sequence[str]) -> dict[str, Tensor]:
        found = {text: self._texts[text] for text in texts if text in self._texts}
        if missing := [text for text in dict.fromkeys(texts) if text not in found]:
            count_call("batches")
            encoded = self.network.encode([self.tokenizer.encode_single(text) for text in missing])
            for text, vector in zip(missing, encoded, strict=True):
                self._texts[text] = found[text] = vector.clone()
        return found

    def _compose(self, paths: Sequence[HopSequence], texts: Mapping[str, Tensor]) -> dict[HopSequence, Tensor]:
        """Return the state of each path; texts: the states of hops."""
        states = {path: self._paths[path] for path in paths if path in self._paths}
        if missing := [path for path in paths if path not in states]:
            row = {hop: at for at, hop in enumerate(dict.fromkeys(hop for path in missing for hop in path))}
            hops = torch.stack([texts[verbalise_directed_hop(hop)] for hop in row])

            def compose(some: Sequence[HopSequence]) -> Tensor:
                rows = pad_paths([[row[hop] for hop in path] for path in some])
                return self.network.compose_paths(hops, rows.to(hops.device))

            for path, state in zip(missing, _in_parts(missing, compose), strict=True):
                self._paths[path] = states[path] = state.clone()
        return states

    def _score(
        self, question: Tensor, paths: Sequence[HopSequence], composed: Mapping[HopSequence, Tensor]
    ) -> tuple[Floats, Floats]:
        def score(some: Sequence[HopSequence]) -> Tensor:
            states = torch.stack([composed[path] for path in some])
            num_hops = torch.tensor([len(path) for path in some]).to(question.device)
            prefixes, questions = self.network.encode_prefixes(states), question.expand(len(some), -1)
            return torch.stack(self.network.score(questions, states, prefixes, num_hops), dim=1).float()

        stop, extend = _in_parts(paths, score).cpu().numpy().T
        return stop, extend


def _in_parts(paths: Sequence[HopSequence], compute: Callable[[Sequence[HopSequence]], Tensor]) -> Tensor:
    """Return what is computed for each path, so many at a time that a processor has the memory."""
    starts = range(0, len(paths), PATHS_AT_ONCE)
    count_call("batches")
    return torch.cat([compute(paths[start : start + PATHS_AT_ONCE]) for start in starts])
