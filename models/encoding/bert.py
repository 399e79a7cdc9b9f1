"""BERT in numpy, whose import and weights are read in a tenth of a second where PyTorch alone takes more than one.

Texts of a batch stand end to end without padding: the dense layers see one matrix of all tokens, and attention takes
the texts of one length together, so that nothing is masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_BLOCK = 16_384
_ERF = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
_ERF_SCALE = np.float32(0.3275911)
"""Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: wrong by 1.5e-7 at most."""
_ROOT_HALF = np.float32(np.sqrt(0.5))


class Bert:
    """The network; `weights` by their names in `BertModel`, each float32."""

    def __init__(self, weights: Mapping[str, Floats], *, num_layers: int, num_heads: int, epsilon: float) -> None:
        self.weights = weights
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.epsilon = np.float32(epsilon)

    def states(self, texts: Sequence[Ints]) -> Floats:
        """Return the last hidden states of the texts' tokens end to end, (num_tokens, dimension).

        texts: the ids of each text's tokens, (num_tokens,); quickest where texts of one length are neighbours.
        """
        lengths = [len(text) for text in texts]
        places = np.concatenate([np.arange(length) for length in lengths])
        states: Floats = self.weights["embeddings.word_embeddings.weight"][np.concatenate(texts)]
        states += self.weights["embeddings.position_embeddings.weight"][places]
        states += self.weights["embeddings.token_type_embeddings.weight"][0]
        states = self._norm("embeddings.LayerNorm", states)
        for number in range(self.num_layers):
            layer = f"encoder.layer.{number}"
            read = self._attention(f"{layer}.attention.self", states, lengths)
            states += self._dense(f"{layer}.attention.output.dense", read)
            states = self._norm(f"{layer}.attention.output.LayerNorm", states)
            inner = gelu(self._dense(f"{layer}.intermediate.dense", states))
            states += self._dense(f"{layer}.output.dense", inner)
            states = self._norm(f"{layer}.output.LayerNorm", states)
        return states

    def _attention(self, name: str, states: Floats, lengths: Sequence[int]) -> Floats:
        """Return what each token reads of those of its own text, (num_tokens, dimension)."""
        query, key, value = (self._dense(f"{name}.{part}", states) for part in ("query", "key", "value"))
        query *= np.float32((states.shape[1] // self.num_heads) ** -0.5)
        read = np.empty_like(states)
        start = 0
        for length, alike in groupby(lengths):
            shape = (sum(1 for _ in alike), length, self.num_heads, -1)
            end = start + shape[0] * length
            q, k, v = (x[start:end].reshape(shape).swapaxes(1, 2) for x in (query, key, value))
            shares = q @ k.swapaxes(2, 3)
            shares -= shares.max(axis=-1, keepdims=True)
            np.exp(shares, out=shares)
            shares /= shares.sum(axis=-1, keepdims=True)
            read[start:end] = (shares @ v).swapaxes(1, 2).reshape(end - start, -1)
            start = end
        return read

    def _dense(self, name: str, x: Floats) -> Floats:
        out: Floats = x @ self.weights[f"{name}.weight"].T
        out += self.weights[f"{name}.bias"]
        return out

    def _norm(self, name: str, x: Floats) -> Floats:
        """Layer normalisation, in place."""
        x -= x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1]) + self.epsilon)
        x *= self.weights[f"{name}.weight"]
        x += self.weights[f"{name}.bias"]
        return x


def gelu(x: Floats) -> Floats:
    """x Φ(x) of a contiguous array, in place; by blocks, so that what lies between stays in the processor's cache."""
    flat = x.reshape(-1)
    for start in range(0, len(flat), _BLOCK):
        block = flat[start : start + _BLOCK]
        z = np.abs(block) * _ROOT_HALF
        t = 1 / (1 + _ERF_SCALE * z)
        rest = np.zeros_like(t)  # 1 − erf(z), then |x| times half of it, which is max(x, 0) − x Φ(x)
        for factor in _ERF:
            rest += factor
            rest *= t
        rest *= np.exp(-z * z)
        rest *= z * _ROOT_HALF
        np.maximum(block, 0, out=block)
        block -= rest
    return x


def weight_names(num_layers: int) -> list[str]:
    """Return the names of all weights that the network reads."""
    modules = ["embeddings.LayerNorm"]
    for number in range(num_layers):
        layer = f"encoder.layer.{number}"
        modules += [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        modules += [f"{layer}.attention.output.dense", f"{layer}.attention.output.LayerNorm"]
        modules += [f"{layer}.intermediate.dense", f"{layer}.output.dense", f"{layer}.output.LayerNorm"]
    embedded = [f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")]
    return embedded + [f"{module}.{part}" for module in modules for part in ("weight", "bias")]
