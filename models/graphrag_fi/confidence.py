"""How sure a language model is of an answer, by the probabilities of the tokens it wrote it with."""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

Token = tuple[str, float]
"""A token's text with its natural log-probability."""


def sequence_confidence(logprobs: Sequence[float]) -> float:
    """Return the confidence of the tokens of an answer, from 0 to 1; our reading of ℓ(a) in GraphRAG-FI, section 4.2.

        ℓ = exp( (Σ_i log P(t_i | t_<i)) / n ),  the geometric mean of the tokens' probabilities

    logprobs: (n,), at least one. A long name is as sure as its tokens are; the product would call it unsure.
    Deviations: the paper's "logits after softmax" says nothing of several tokens; the authors take the mean over all
    tokens of the reply of the greatest probability of a softmax at temperature 2, which is 1 where it saturates.
    """
    return math.exp(min(0.0, math.fsum(logprobs) / len(logprobs)))


def answer_confidences(tokens: Sequence[Token], answers: Sequence[str]) -> list[float | None]:
    """Return the confidence of each answer in a reply, None where it is not found in it.

    tokens: of the reply. answers: as the reply has them, or as what its JSON strings stand for, in its order: each is
    looked for after the one before it, and failing that from the start. A token counts where it shares a character with
    the answer.
    """
    reply = "".join(text for text, _ in tokens)
    ends = list(accumulate(len(text) for text, _ in tokens))
    confidences: list[float | None] = []
    place = 0
    for answer in answers:
        start, end = _found(reply, answer, place)
        confidences.append(None)
        if end > start:
            first, last = bisect_right(ends, start), bisect_left(ends, end)
            own = [logprob for _, logprob in tokens[first : last + 1]]
            confidences[-1] = sequence_confidence(own)
            place = end
    return confidences


def _found(reply: str, answer: str, place: int) -> tuple[int, int]:
    """Return where the answer stands, a string in quotes first; equal numbers where it does not."""
    spellings = dict.fromkeys([answer, json.dumps(answer)[1:-1], json.dumps(answer, ensure_ascii=False)[1:-1]])
    for start in (place, 0):
        for before in ('"', ""):
            for spelling in spellings:
                found = reply.find(before + spelling + before, start) if spelling else -1
                if found >= 0:
                    return found + len(before), found + len(before) + len(spelling)
    return 0, 0
