"""The similarity that is trained on nothing (`models.similarity`) of all paths of an example: what a network learns
beside it is what it lacks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...similarity import PathSimilarity, PathsOfTopic
from ...text_vectors import TextVectors
from ..mined import MinedQuestion, PathTrie
from .examples import Example, ExampleSet
from .paths import Ints, PathTable

AT_ONCE = 64
"""Questions whose texts are encoded together."""
UNIT = 10.0
"""Of a score of .1: what a temperature of .1 makes of similarity (`engine.evidence.calibration`)."""


def with_similarity(examples: ExampleSet, vectors: TextVectors) -> ExampleSet:
    """Return the examples with the similarity of their paths; paths of one length are shortlisted together, as a search
    meets them.

    Deviations: a hop through a mediator counts as one way on for each pair of relations, since mined files have hops,
    where the search counts relations; and all paths of a length are met, where a search has those of its beam.
    """
    similarity = PathSimilarity(vectors)
    found: list[Example] = []
    pairs = list(zip(examples.examples, examples.mined.questions, strict=True))
    for start in range(0, len(pairs), AT_ONCE):
        some = pairs[start : start + AT_ONCE]
        parts = [part for example, question in some for part in _by_length(example, question, examples.table)]
        scores = iter(similarity.scores([paths for _, paths in parts]))
        rows = iter([rows for rows, _ in parts])
        for example, _ in some:
            both = np.zeros((2, len(example.reachable)), dtype=np.float32)
            for _ in range(_num_lengths(example, examples.table)):
                both[:, next(rows)] = next(scores)
            found.append(replace(example, similarity=(UNIT * both[0], UNIT * both[1])))
    return replace(examples, examples=tuple(found))


def _num_lengths(example: Example, table: PathTable) -> int:
    return len(np.unique(table.depths(example.reachable.paths)))


def _by_length(
    example: Example, question: MinedQuestion, table: PathTable
) -> Iterator[tuple[Ints, list[PathsOfTopic]]]:
    """Yield the paths of each length: their rows among the reachable ones, and the paths, topic by topic."""
    branching = np.array([value for reach in question.reach for value in _log_branching(reach)])
    depths = table.depths(example.reachable.paths)
    for depth in np.unique(depths).tolist():
        rows = np.flatnonzero(depths == depth)
        topics = [rows[example.reachable.topics[rows] == topic] for topic in range(len(example.masked))]
        yield (
            np.concatenate(topics),
            [
                PathsOfTopic(
                    masked,
                    [table.path_hops(path) for path in example.reachable.paths[some].tolist()],
                    branching[some].tolist(),
                )
                for masked, some in zip(example.masked, topics, strict=True)
            ],
        )


def _log_branching(reach: PathTrie, before: float = 0.0) -> Iterator[float]:
    """Yield Σ ln(1 + n) of every path of a trie, in the order of `walks`."""
    here = before + math.log1p(len(reach))
    for following in reach.values():
        yield here
        yield from _log_branching(following, here)
