"""Count the errors of a first path by STAR's biases, and read question and path separately, for the ablation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from lodestar.models.mined import Hops
from lodestar.models.star.network import Floats
from lodestar.models.star.training import ExampleCandidates, ExampleSet, PoolObjective, QuestionExample, dual_batch
from lodestar.models.text import verbalise_path
from lodestar.models.text.vectors import TextVectors
from torch import Tensor

TAIL = 0.2
"""The least frequent 20 % of training paths, and those that tie with the last of them, are the long tail. If most paths
occur once, most are in it.
"""


@dataclass(frozen=True, slots=True)
class ErrorShares:
    """error: the first path leads to no right answer. shortcut: in addition its words are at least as similar to the
    question as those of the best right path. long_tail: in addition the best right path is in the long tail. union:
    either.
    """

    error: float
    shortcut: float
    long_tail: float
    union: float


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How often each path is a positive in training, and the highest count in the long tail."""

    counts: Mapping[Hops, int]
    tail_count: int

    def is_tail(self, path: Hops) -> bool:
        """Whether a path is in the long tail; unseen paths are."""
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
    ranked: Iterable[tuple[QuestionExample, Floats]], examples: ExampleSet, vectors: TextVectors, known: Frequencies
) -> ErrorShares:
    """Return the error shares, given the scores of each example's reachable paths.

    Our reading, as the paper does not give its threshold of high similarity: at least that of the best right path, by
    F1. Similarity is the cosine of the question without its topic and the verbalised path.
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


def _cosine(example: QuestionExample, row: int, examples: ExampleSet, vectors: TextVectors) -> float:
    path = verbalise_path(examples.table.path_hops(int(example.reachable.paths[row])))
    question = example.masked[int(example.reachable.topics[row])]
    vectors.encode([question, path])
    return float(vectors.sentence(question) @ vectors.sentence(path))


class DualPoolObjective(PoolObjective):
    """Encodes question and path separately; s is the stop score times τ, as the network has its own scale."""

    def logits(self, examples: ExampleSet, selected: ExampleCandidates) -> Tensor:
        """Return the stop scores of all candidates, (num_candidates,)."""
        some, candidates = zip(*selected, strict=True)
        stop: Tensor = self.network(dual_batch(self.texts, examples.table, some, candidates))[0]
        return stop

    def path_scores(self, logits: Tensor) -> Tensor:
        """Return the logits times τ."""
        return logits * self.options.temperature
