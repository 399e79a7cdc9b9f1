"""Compute GraphRAG-FI's formulas: relevance, priority groups, confidences and integration."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

FloatsOfAnySize = npt.NDArray[np.floating]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def get_middle_attention_layer(num_layers: int) -> int:
    """Return the number, from 0, of the layer whose attention is used: the "(middle + 2)-th", or the last of a shallow
    model.

    The middle is num_layers / 2 rounded down, and layers count from 0: our reading.
    """
    return min(num_layers // 2 + 2, num_layers - 1)


def find_token_spans(offsets: Ints, characters: Sequence[tuple[int, int]]) -> Ints:
    """Return each path's token span, first token and one after the last, (num_paths, 2) int64.

    offsets: (num_tokens, 2) the characters of each token, ascending, as in a tokenizer's offset mapping; special tokens
    have empty ranges. characters: (num_paths, 2) each path's first character and one after its last. A token belongs to
    a path if they share a character. A path that was cut off the prompt has an empty span.
    """
    covers = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    starts, ends = offsets[covers].T
    wanted = np.asarray(characters, dtype=np.int64).reshape(-1, 2)
    first = np.searchsorted(ends, wanted[:, 0], side="right")
    after = np.maximum(np.searchsorted(starts, wanted[:, 1]), first)
    found = (after > first) & (wanted[:, 1] > wanted[:, 0])
    spans = np.zeros_like(wanted)
    spans[found, 0] = covers[first[found]]
    spans[found, 1] = covers[after[found] - 1] + 1
    return spans


def compute_attention_relevance(attention: FloatsOfAnySize, spans: Ints) -> npt.NDArray[np.float64]:
    """Return the relevance of each path, (num_paths,); GraphRAG-FI, equation 7.

        â_i = (max(att(p_i)) + mean(att(p_i))) / 2

    attention: att, from the prompt's last position (which produces the reply's first token) to each token; (num_heads,
    num_tokens), averaged over the heads (our reading), or (num_tokens,). spans: (num_paths, 2) first token and one
    after the last; a path without tokens has relevance 0.
    """
    row = np.asarray(attention, dtype=np.float64)
    row = row.mean(axis=0) if row.ndim == 2 else row
    relevances = np.zeros(len(spans))
    for path, (first, after) in enumerate(spans.tolist()):
        if after > first:
            relevances[path] = (row[first:after].max() + row[first:after].mean()) / 2
    return relevances


def select_most_relevant_paths(relevances: npt.NDArray[np.floating], keep: int) -> tuple[int, ...]:
    """Return the numbers of the `keep` most relevant paths, most relevant first; GraphRAG-FI, equation 2.

    relevances: â, (num_paths,). The threshold τ is that of the top 40 or 50 (section A.4). Ties go to the earlier path.
    """
    return tuple(np.argsort(-relevances, kind="stable")[:keep].tolist())


def prioritise_items(coarse: tuple[int, ...], useful: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the paths that both filters keep, and those that only the first keeps; GraphRAG-FI, equation 3.

    coarse: the paths that the first filter keeps. useful: those that the second keeps; paths not in coarse are ignored.
    The paper's "high priority" and "additional" paths. Deviations: the authors' prompt repeats the first group in the
    second; the difference is the paper's definition, P_coarse − P_final.
    """
    return tuple(p for p in coarse if p in useful), tuple(p for p in coarse if p not in useful)


Token = tuple[str, float]
"""A token's text with its natural log-probability."""


def compute_sequence_confidence(logprobs: Sequence[float]) -> float:
    """Return the confidence of an answer's tokens, from 0 to 1; our reading of ℓ(a) in GraphRAG-FI, section 4.2.

        ℓ = exp( (Σ_i log P(t_i | t_<i)) / n ),  the geometric mean of the tokens' probabilities

    logprobs: (n,), at least one. The mean does not punish long names, as the product would. Deviations: the paper's
    "logits after softmax" does not say how to combine tokens; the authors average, over all tokens of the reply, the
    greatest probability of a softmax at temperature 2, which is 1 where it saturates.
    """
    return math.exp(min(0.0, math.fsum(logprobs) / len(logprobs)))


def compute_answer_confidences(tokens: Sequence[Token], answers: Sequence[str], start: int = 0) -> list[float | None]:
    """Return the confidence of each answer in a reply; None for an answer that the reply does not contain.

    tokens: the reply's. answers: in the reply's order, spelled as in the reply or as the values of its JSON strings.
    start: the first character of the reply that counts. Each answer is searched after the previous one, then from the
    start, as whole words first. A token counts if it shares a character with the answer.
    """
    reply = "".join(text for text, _ in tokens)
    ends = list(accumulate(len(text) for text, _ in tokens))
    confidences: list[float | None] = []
    place = start
    for answer in answers:
        begin, end = _find_answer(reply, answer, place, start)
        confidences.append(None)
        if end > begin:
            first, last = bisect_right(ends, begin), bisect_left(ends, end)
            own = [logprob for _, logprob in tokens[first : last + 1]]
            confidences[-1] = compute_sequence_confidence(own)
            place = end
    return confidences


def _find_answer(reply: str, answer: str, *starts: int) -> tuple[int, int]:
    """Return where the answer stands at or after the first of the starts that has it.

    A quoted string goes before whole words, and these before a part of a word; start equals end if it is missing.
    """
    spellings = dict.fromkeys([answer, json.dumps(answer)[1:-1], json.dumps(answer, ensure_ascii=False)[1:-1]])
    for start in starts:
        for before in ('"', ""):
            for spelling in spellings:
                found = reply.find(before + spelling + before, start)
                if found >= 0:
                    whole = re.compile(rf"(?<!\w){re.escape(spelling)}(?!\w)").search(reply, found)
                    begin = found + len(before) if before else whole.start() if whole else found
                    return begin, begin + len(spelling)
    return 0, 0


KeyedAnswer = tuple[str, float | None]
"""An answer's normalised form, which spellings share, and its confidence, None if it is unknown."""


@dataclass(frozen=True, slots=True)
class ConfidenceThresholds:
    """The lowest accepted confidences: τ_G with the graph, τ_L without it.

    Defaults are the paper's: τ_G of 0.4 to 0.5 (table 6), and τ_L = 1, implemented as 0.995, which rounds to 1 at two
    places (our reading), since probabilities hardly reach 1.
    """

    graph: float = 0.5
    model: float = 0.995


def integrate_answers(
    graph: Sequence[KeyedAnswer], model: Sequence[KeyedAnswer], thresholds: ConfidenceThresholds
) -> list[tuple[int | None, int | None]]:
    """Return the place of each kept answer in either list, None where it was not kept; GraphRAG-FI, equations 4 to 6.

        A = {a ∈ A_G | ℓ_G(a) ≥ τ_G} ∪ {a ∈ A_L | ℓ_L(a) ≥ τ_L}

    A_G comes first, in its order, then the rest of A_L in its order. If a list has a key twice, the more confident one
    counts, then the earlier. Answers of unknown confidence are kept from A_G and dropped from A_L: when no confidence
    is known, the graph's answers stay.
    """
    of_graph = _keep_claims(graph, thresholds.graph, unknown=True)
    of_model = _keep_claims(model, thresholds.model, unknown=False)
    return [(of_graph.get(key), of_model.get(key)) for key in {**of_graph, **of_model}]


def _keep_claims(claims: Sequence[KeyedAnswer], threshold: float, *, unknown: bool) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, (key, confidence) in enumerate(claims):
        if unknown if confidence is None else confidence >= threshold:
            held = places.setdefault(key, place)
            if (confidence or 0.0) > (claims[held][1] or 0.0):
                places[key] = place
    return places
