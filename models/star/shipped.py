"""The cross-attentive scorer that comes with Lodestar, trained on questions over many graphs (shipped.md), in NumPy.

Training starts from it: `load_shipped_weights`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ..text import Hop, verbalise_directed_hop
from ..text.encoders import (
    INSTALL_WEIGHTS,
    EncoderUnavailableError,
    SentenceEncoder,
    gelu,
    merge_adapter,
    merge_into_network,
    open_numpy_encoder,
)
from . import SPECIAL_TOKENS

if TYPE_CHECKING:
    from .network import CrossAttentiveScorer

Floats = npt.NDArray[np.float32]
HopSequence = tuple[Hop, ...]

WEIGHTS = Path(__file__).parent / "shipped.safetensors"
ENCODER = "all-MiniLM-L6-v2+relations"
"""What the weights change."""
KEYS = 64
"""d_k of the cross-attention."""
MAX_QUESTION_TOKENS = 64
MAX_PATH_TOKENS = 96
QUESTION_AT = 1
"""The place of `[QSP]`."""


class SpecialTokenIds(NamedTuple):
    """The ids of the special tokens ``[CLS] [SEP] [QSP] [PSP] [END]``."""

    first: int
    last: int
    question: int
    path: int
    end: int

    def join(self, question: Sequence[int], path: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """Return ``[CLS] [QSP] question [SEP] [PSP] path [END] [SEP]`` (STAR, section 4.1), and the place of `[PSP]`.

        Our reading: the paper's relation END is a token of its own after the path.
        """
        before = (self.first, self.question, *question[:MAX_QUESTION_TOKENS], self.last)
        return (*before, self.path, *path[:MAX_PATH_TOKENS], self.end, self.last), len(before)


def format_path_for_scorer(mention: str, hops: Sequence[Hop]) -> str:
    """Return a path's words for the cross-attentive scorer: the topic entity, then hop by hop."""
    return ", ".join([mention, *map(verbalise_directed_hop, hops)])


class PairScorer(ABC):
    """Reads pairs of question and path with a cross-attentive scorer. Threads take turns."""

    def __init__(self) -> None:
        self._turn = threading.RLock()

    def cross(self, pairs: Sequence[tuple[str, str, HopSequence]]) -> Floats:
        """Return the logits, (num_pairs,), of (question, mention of the topic, path); equal pairs are read once."""
        texts = [(question, format_path_for_scorer(mention, path)) for question, mention, path in pairs]
        row = {pair: at for at, pair in enumerate(dict.fromkeys(texts))}
        with self._turn:
            logits = self.logits(list(row))
        return logits[[row[pair] for pair in texts]]

    @abstractmethod
    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return the logits of texts, (num_pairs,)."""


class ShippedStar(PairScorer):
    """The shipped scorer on a CPU, without PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        encoder = SentenceEncoder(ENCODER)
        plain = open_numpy_encoder(Path(encoder.location), encoder.adapter)
        if plain is None:
            raise EncoderUnavailableError(f"the weights of encoder {ENCODER!r} are not installed: {INSTALL_WEIGHTS}")
        self._encoder, weights = plain, plain.bert.weights
        heads = merge_adapter(WEIGHTS, lambda name: weights[f"{name}.weight"])
        name = "embeddings.word_embeddings.weight"
        words = weights[name]
        self._heads = _check_heads(heads, words.shape[1])
        plain.bert.weights = {**weights, name: np.vstack([words, self._heads["special"]])}
        cls, sep = (plain.token_id(token) for token in ("[CLS]", "[SEP]"))
        self._ids = SpecialTokenIds(cls, sep, *range(len(words), len(words) + len(SPECIAL_TOKENS)))

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        tokens = [self._ids.join(*map(self._encoder.tokenise, pair)) for pair in pairs]
        found = np.zeros(len(pairs), dtype=np.float32)
        for place, states in self._encoder.states([np.array(ids) for ids, _ in tokens]):
            found[place] = self._read_states(states, *tokens[place])
        return found

    def _read_states(self, states: Floats, ids: Sequence[int], path_at: int) -> float:
        """Return the logit of a pair; states: (num_tokens, d). See `CrossAttentiveScorer`."""
        question = self._attend(states[QUESTION_AT], states[QUESTION_AT + 1 : path_at - 1])
        path = self._attend(states[path_at], states[path_at + 1 : len(ids) - 1])
        joined = np.concatenate([states[0], states[QUESTION_AT] + question, states[path_at] + path])
        inner = gelu(self._heads["feed_forward.1.weight"] @ joined + self._heads["feed_forward.1.bias"])
        logit = self._heads["feed_forward.4.weight"] @ inner + self._heads["feed_forward.4.bias"]
        return float(logit[0])

    def _attend(self, query: Floats, states: Floats) -> Floats:
        """See `models.star.network.compute_attention`; states: (num_tokens, d)."""
        keys = states @ self._heads["key_map.weight"].T
        logits = keys @ (self._heads["query_map.weight"] @ query) / np.float32(keys.shape[1] ** 0.5)
        weights = np.exp(logits - logits.max())
        return (weights / weights.sum()) @ states


def _check_heads(heads: dict[str, Floats], d: int) -> dict[str, Floats]:
    """Return the layers on top of an encoder of dimension d and the rows of the special tokens, if they fit it."""
    shapes: dict[str, tuple[int, ...]] = {f"{name}_map.weight": (KEYS, d) for name in ("query", "key")}
    shapes |= {"special": (len(SPECIAL_TOKENS), d), "feed_forward.1.weight": (d, 3 * d), "feed_forward.1.bias": (d,)}
    shapes |= {"feed_forward.4.weight": (1, d), "feed_forward.4.bias": (1,)}
    if wrong := [name for name, shape in shapes.items() if name not in heads or heads[name].shape != shape]:
        raise EncoderUnavailableError(f"the weights {WEIGHTS} have no fitting {wrong[0]}: install Lodestar again")
    return heads


def load_shipped_weights(network: CrossAttentiveScorer) -> None:
    """Give a network over the encoder `ENCODER`, with `KEYS` keys and the special tokens, the shipped weights."""
    import torch

    words: torch.Tensor = network.encoder.get_parameter("embeddings.word_embeddings.weight")
    read = _check_heads(merge_into_network(network.encoder, WEIGHTS), words.shape[1])
    heads = {name: torch.from_numpy(each) for name, each in read.items()}
    with torch.no_grad():
        words[-len(SPECIAL_TOKENS) :] = heads.pop("special")
        for name, each in heads.items():
            network.get_parameter(name).copy_(each)
