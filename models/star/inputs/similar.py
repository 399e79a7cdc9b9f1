"""The similarity that is trained on nothing (`models.similarity`) of all paths of an example: what a network learns
beside it is what it lacks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from ...similarity import PathSimilarity, PathsOfTopic
from ...text_vectors import TextVectors
from ..mined import MinedQuestion, PathTrie
from .examples import Example, ExampleSet
from .paths import PathTable

AT_ONCE = 64
"""Questions whose texts are encoded together."""
UNIT = 10.0
"""Of a score of .1: what a temperature of .1 makes of similarity (`engine.evidence.calibration`)."""


def with_similarity(examples: ExampleSet, vectors: TextVectors) -> ExampleSet:
    """Return the examples with the similarity of their paths.

    Deviations: a hop through a mediator counts as one way on for each pair of relations, since mined files have hops,
    where the search counts relations.
    """
    similarity = PathSimilarity(vectors)
    found: list[Example] = []
    pairs = list(zip(examples.examples, examples.mined.questions, strict=True))
    for start in range(0, len(pairs), AT_ONCE):
        some = pairs[start : start + AT_ONCE]
        scores = similarity.scores([list(_paths(example, question, examples.table)) for example, question in some])
        found += [
            replace(example, similarity=(UNIT * stop, UNIT * extend))
            for (example, _), (stop, extend) in zip(some, scores, strict=True)
        ]
    return replace(examples, examples=tuple(found))


def _paths(example: Example, question: MinedQuestion, table: PathTable) -> Iterator[PathsOfTopic]:
    for topic, (masked, reach) in enumerate(zip(example.masked, question.reach, strict=True)):
        paths = example.reachable.paths[example.reachable.topics == topic].tolist()
        yield PathsOfTopic(masked, [table.path_hops(path) for path in paths], list(_log_branching(reach)))


def _log_branching(reach: PathTrie, before: float = 0.0) -> Iterator[float]:
    """Yield Σ ln(1 + n) of every path of a trie, in the order of `walks`."""
    here = before + math.log1p(len(reach))
    for following in reach.values():
        yield here
        yield from _log_branching(following, here)
