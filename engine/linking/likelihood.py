"""Estimate how likely a mention in a question means an entity, by logistic regression.

p = 1 / (1 + exp(−w · x)); the formula is our own. The weights were fitted on the training questions of FB15k-237
(`python -m benchmarks.accuracy.linking --fit`; docs/linking.md).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .mentions import KINDS, Mention, QuestionWords, capitals_differ

Floats = npt.NDArray[np.float64]
Span = tuple[int, int]

FEATURES = (
    "1",
    "typo: 1 − similarity",
    *(f"form: {kind}" for kind in KINDS[1:]),
    "share of the name's words",
    "words of content, 1 − 2^−n",
    "a capitalised name in small letters",
    "capitalised in the question",
    "degree, log₁₀ / 5",
    "degree below the best of the same words",
    "same words, better form elsewhere",
    "within a longer whole name",
    "within another longer mention",
    "a word for a type, in small letters",
)
WEIGHTS = (
    -4.81, -9.90, -0.59, -1.29, -0.93, -1.56, 0.69, -2.25, -2.16, -1.52, -2.00, 1.86,
    3.61, -1.47, 0.07, 3.80, 9.15, -1.96, -3.29, -1.83, -3.98,
)  # fmt: skip


def compute_probabilities(x: Floats, weights: npt.ArrayLike = WEIGHTS) -> Floats:
    """Return the probability that the question is about each mention's entity, (num_mentions,). `x` comes from
    `compute_features`."""
    likelihood: Floats = 1 / (1 + np.exp(-(x @ np.asarray(weights))))
    return likelihood


def compute_features(words: QuestionWords, found: Sequence[Mention], type_words: Collection[str]) -> Floats:
    """Return x, (num_mentions, num_features), in the order of `FEATURES`; mentions are compared with one another."""
    if not found:
        return np.zeros((0, len(FEATURES)))
    same: dict[Span, list[Mention]] = {}
    for each in found:
        same.setdefault((each.start, each.end), []).append(each)
    rivals = {span: _SameRun.of(some) for span, some in same.items()}
    return np.array([_compute_row(words, each, rivals, type_words) for each in found])


@dataclass(frozen=True, slots=True)
class _SameRun:
    """The best values among the mentions that share a run of words."""

    degree: float
    quality: tuple[bool, int]
    is_whole: bool
    """Whether a whole name without a typo is among them."""

    @classmethod
    def of(cls, same: Sequence[Mention]) -> _SameRun:
        is_whole = any(m.kind == "whole" and m.similarity == 1 for m in same)
        return cls(max(map(_degree, same)), min(map(_quality, same)), is_whole)


def _compute_row(
    words: QuestionWords,
    found: Mention,
    rivals: Mapping[Span, _SameRun],
    type_words: Collection[str],
) -> list[float]:
    span = found.start, found.end
    run = words.tokens[found.start : found.end]
    content = [t for t, is_content in zip(run, words.is_content[found.start : found.end], strict=True) if is_content]
    longer = [r for other, r in rivals.items() if other != span and other[0] <= span[0] and span[1] <= other[1]]
    same = rivals[span]
    small = all(token.text.islower() for token in content)
    is_type = all(t.folded in type_words or t.folded.removesuffix("s") in type_words for t in content)
    return [
        1.0,
        1 - found.similarity,
        *(float(found.kind == kind) for kind in KINDS[1:]),
        len(run) / max(len(run), len(found.name.split())) if found.kind != "initials" else 1.0,
        1 - 2.0 ** -len(content),
        float(capitals_differ(words, found)),
        float(words.is_cased and found.start > 0 and not small),
        _degree(found),
        _degree(found) - same.degree,
        float(same.quality < _quality(found)),
        float(any(other.is_whole for other in longer)),
        float(any(not other.is_whole for other in longer)),
        float(is_type and small),
    ]


def _degree(found: Mention) -> float:
    return min(1.0, math.log10(1 + found.named.degree) / 5)


def _quality(found: Mention) -> tuple[bool, int]:
    return found.similarity < 1, KINDS.index(found.kind)
