"""Training examples: mined questions as arrays, over one table of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...similarity import mask_topic
from ..mined import Mined, MinedQuestion, walks, words_of
from .paths import Ints, PathTable

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Paths of one question: numbers in the table and, for each, which of the question's topics it leaves;
    (num_candidates,) each."""

    paths: Ints
    topics: Ints

    def __len__(self) -> int:
        return len(self.paths)

    def at(self, rows: Ints) -> Candidates:
        """Return the candidates at these rows."""
        return Candidates(self.paths[rows], self.topics[rows])

    def and_then(self, others: Candidates) -> Candidates:
        """Return these candidates, then the others."""
        return Candidates(np.concatenate([self.paths, others.paths]), np.concatenate([self.topics, others.topics]))


@dataclass(frozen=True, slots=True)
class Example:
    """One question with every path that can be walked from its topics, and what each is worth.

    masked: the question without the mention of each topic. reachable: all that can be walked. precision, recall and f1:
    of the ends of each of them, 0 where no end is right. positive: the positives of hard path mining among them.
    first_shortest: the row of the shortest answer path that comes first, −1 where there is none. has_gold: the
    positives are an annotator's paths. negatives: the wrong paths that mining made, some of which the graph lacks.
    """

    id: str
    text: str
    topic_ids: tuple[str, ...]
    mentions: tuple[str, ...]
    masked: tuple[str, ...]
    reachable: Candidates
    precision: Floats
    recall: Floats
    f1: Floats
    positive: Bools
    first_shortest: int
    has_gold: bool
    negatives: Candidates
    similarity: tuple[Floats, Floats] | None = None
    """Of each reachable path as one to stop at and as a beginning, by what is trained on nothing; see `similar`."""

    @property
    def is_right(self) -> Bools:
        """Which of the reachable paths lead to a right answer."""
        return self.f1 > 0


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """The examples of one mined file."""

    table: PathTable
    examples: tuple[Example, ...]
    mined: Mined


def examples_of(mined: Mined) -> ExampleSet:
    """Return the examples of a mined file, in its order."""
    table = PathTable(words_of(mined.mining))
    return ExampleSet(table, tuple(_example(question, table) for question in mined.questions), mined)


def _example(question: MinedQuestion, table: PathTable) -> Example:
    found = [(table.number(hops), topic) for topic, reach in enumerate(question.reach) for hops in walks(reach)]
    row = {key: at for at, key in enumerate(found)}
    values = np.zeros((3, len(found)), dtype=np.float32)
    positive = np.zeros(len(found), dtype=np.bool_)
    first_shortest = -1
    for path in question.paths:
        at = row.get((table.number(path.hops), path.topic))
        if at is None:
            continue  # the reach was cut before it
        values[:, at] = path.precision, path.recall, path.f1
        positive[at] = path.positive
        if path.shortest and first_shortest < 0:
            first_shortest = at
    return Example(
        id=question.id,
        text=question.text,
        topic_ids=tuple(topic.id for topic in question.topics),
        mentions=tuple(topic.mention for topic in question.topics),
        masked=tuple(mask_topic(question.text, topic.mention) for topic in question.topics),
        reachable=_candidates(found),
        precision=values[0],
        recall=values[1],
        f1=values[2],
        positive=positive,
        first_shortest=first_shortest,
        has_gold=any(path.gold for path in question.paths),
        negatives=_candidates([(table.number(path.hops), path.topic) for path in question.negatives]),
    )


def _candidates(pairs: Sequence[tuple[int, int]]) -> Candidates:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Candidates(both[:, 0], both[:, 1])
