"""Define what a path scorer gets and gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...models.text import DirectedRelation, Hop, RelationWords
from ...models.word_positions import remove_mention
from ..data_model import RelationPath, Topic

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PathQuery:
    """Paths to be scored for one question: the candidates of a hop, or what a search found.

    paths[i] starts at the topic entity topics[i]; log_branching[i] is Σ ln(1 + n) over its hops, n the number of
    relations that lead on from where the hop starts. All have length num_candidates.
    """

    question: str
    topics: tuple[Topic, ...]
    paths: tuple[RelationPath, ...]
    log_branching: tuple[float, ...]

    def rows_by_topic(self) -> dict[Topic, list[int]]:
        """Return where the candidates of each topic stand, topics in the order they come first."""
        rows: dict[Topic, list[int]] = {}
        for row, topic in enumerate(self.topics):
            rows.setdefault(topic, []).append(row)
        return rows


@dataclass(frozen=True, slots=True)
class PathScores:
    """The two scores of each candidate of a `PathQuery`, (num_candidates,) each; higher is better, and what has minus
    infinity twice is not walked.

    stop: the path followed by END, comparable between candidates of different length.
    extend: the promise of the path as the beginning of a longer one.
    """

    stop: FloatArray
    extend: FloatArray


def get_topic_mention(topic: Topic) -> str:
    """Return how the question mentions a topic, its name where that is not known."""
    return topic.mention or topic.entity.label


def remove_topic_mention(question: str, topic: Topic) -> str:
    """Return the question without the mention of a topic."""
    return remove_mention(question, get_topic_mention(topic))


Shortlist = Callable[[str, Collection[int]], Collection[int]]
"""Returns which relations, by signed catalogue number, are scored for a question, given without its topics' mentions
(`GraphResources.shortlist`)."""


class PathScorer(Protocol):
    """Scores candidate paths for a batch of questions at once."""

    def score(self, queries: Sequence[PathQuery]) -> list[PathScores]:
        """Return the scores for each query, in order. Deterministic."""
        ...


def merge_mediator_hops(path: RelationPath, words: Mapping[str, RelationWords]) -> tuple[Hop, ...]:
    """Return the path's hops: a step into a mediator and the step out of it are one."""
    hops: list[Hop] = []
    open_hop: Hop = ()
    for step in path.steps:
        open_hop = (*open_hop, DirectedRelation(words[step.relation], step.inverse))
        if not step.to_mediator:
            hops.append(open_hop)
            open_hop = ()
    return (*hops, open_hop) if open_hop else tuple(hops)
