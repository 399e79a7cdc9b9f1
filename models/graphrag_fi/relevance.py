"""How relevant a language model finds each path of its prompt, by its attention (GraphRAG-FI, sections 3.4 and A.6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int64]


def relevance_layer(num_layers: int) -> int:
    """Return the number, from 0, of the layer whose attention counts: "(middle + 2)-th", the last where there are few.

    The middle is num_layers / 2 rounded down, and layers are counted from 0: our reading.
    """
    return min(num_layers // 2 + 2, num_layers - 1)


def token_spans(offsets: Ints, characters: Sequence[tuple[int, int]]) -> Ints:
    """Return the tokens of each path, from the first to one after the last, (num_paths, 2) int64.

    offsets: (num_tokens, 2) the characters that each token stands for, ascending, as a tokenizer's offset mapping gives
    them; those of tokens that stand for none, as a tokenizer adds them, are empty. characters: of each path the first
    and one after the last. A token counts where it shares a character with the path; a path that the prompt was cut
    before has an empty span.
    """
    covers = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    starts, ends = offsets[covers].T
    wanted = np.asarray(characters, dtype=np.int64).reshape(-1, 2)
    first = np.searchsorted(ends, wanted[:, 0], side="right")
    after = np.maximum(np.searchsorted(starts, wanted[:, 1], side="left"), first)
    found = (after > first) & (wanted[:, 1] > wanted[:, 0])
    spans = np.zeros_like(wanted)
    spans[found, 0] = covers[first[found]]
    spans[found, 1] = covers[after[found] - 1] + 1
    return spans


def attention_relevance(attention: Floats, spans: Ints) -> npt.NDArray[np.float64]:
    """Return the relevance of each path, (num_paths,); GraphRAG-FI, equation 7.

        â_i = (max(att(p_i)) + mean(att(p_i))) / 2

    attention: att, of the last position of the prompt, the one that gives the first token of the reply, to each token;
    (num_heads, num_tokens), averaged over the heads (our reading), or (num_tokens,). spans: (num_paths, 2) tokens from
    the first to one after the last; a path without tokens has relevance 0.
    """
    row = np.asarray(attention, dtype=np.float64)
    row = row.mean(axis=0) if row.ndim == 2 else row
    relevances = np.zeros(len(spans))
    for path, (first, after) in enumerate(spans.tolist()):
        if after > first:
            relevances[path] = (row[first:after].max() + row[first:after].mean()) / 2
    return relevances
