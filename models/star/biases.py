"""The two biases of retrieval that STAR is about (section 3.1, Tables 3 and 4), as shares of all questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..text_vectors import TextVectors
from ..verbalise import verbalise_path
from .inputs.examples import Example, ExampleSet, Floats
from .mined import Hops

TAIL = 0.2
"""The least frequent 20 % of training paths are the long tail, and with them all that are as rare as the last of these:
where most paths are met once, most are in it."""


@dataclass(frozen=True, slots=True)
class ErrorShares:
    """error: the first path leads to no right answer. shortcut: and its words are at least as similar to the question
    as those of the best right path. long_tail: or the best right path is one of the long tail. union: either."""

    error: float
    shortcut: float
    long_tail: float
    union: float


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How often each path is a positive in training, and up to which count it belongs to the long tail."""

    counts: Mapping[Hops, int]
    tail_count: int

    def is_tail(self, path: Hops) -> bool:
        """Whether a path is of the long tail; one that was never met is."""
        return self.counts.get(path, 0) <= self.tail_count


def frequencies(examples: ExampleSet) -> Frequencies:
    """Return the frequencies of the positives of hard path mining."""
    table = examples.table
    counts = Counter(
        table.written[path] for example in examples.examples for path in example.reachable.paths[example.positive]
    )
    ordered = sorted(counts.values())
    return Frequencies(counts, ordered[max(0, round(TAIL * len(ordered)) - 1)] if ordered else 0)


def error_shares(
    ranked: Iterable[tuple[Example, Floats]], examples: ExampleSet, vectors: TextVectors, known: Frequencies
) -> ErrorShares:
    """Return the shares, given the scores of each example's reachable paths.

    Our reading, the paper's threshold of a high similarity being lost: it is high where it is not below that of the
    best right path, by F1. Similarity is the cosine of the question without its topic and the verbalised path.
    """
    rows: list[tuple[bool, bool, bool]] = []
    for example, scores in ranked:
        first, right = int(np.argmax(scores)), int(np.argmax(example.f1))
        wrong = not example.is_right[first]
        answered = bool(example.is_right[right])
        shortcut = (
            wrong
            and answered
            and _cosine(example, first, examples, vectors) >= _cosine(example, right, examples, vectors)
        )
        tail = wrong and answered and known.is_tail(examples.table.written[int(example.reachable.paths[right])])
        rows.append((wrong, shortcut, tail))
    found = np.array(rows, dtype=np.bool_)
    shares = [*found.mean(axis=0), found[:, 1:].any(axis=1).mean()]
    return ErrorShares(*(float(share) for share in shares))


def _cosine(example: Example, row: int, examples: ExampleSet, vectors: TextVectors) -> float:
    path = verbalise_path(examples.table.path_hops(int(example.reachable.paths[row])))
    question = example.masked[int(example.reachable.topics[row])]
    vectors.encode([question, path])
    return float(vectors.sentence(question) @ vectors.sentence(path))
