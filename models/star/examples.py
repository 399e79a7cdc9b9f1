"""Turn mined paths into training examples: paths, negatives and unanswerable questions.

Unanswerable questions lose the same relations as in `lodestar eval --unanswerable`: those of the positive paths, and
those of every path whose ends match the right answers with F1 .5 or more, or as well as the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..similarity import mask_topic
from ..text.verbalise import Hop, RelationWords, verbalise_hop
from .mined import INVERSE, THROUGH, Hops, MinedFile, MinedQuestion, hop_of, iterate_paths, words_of

Ints = npt.NDArray[np.int64]

ROOT = -1
"""The parent of a path of one hop."""


@dataclass(slots=True)
class PathTable:
    """Paths by number. A path's parent is the path without its last hop, and has a smaller number.

    `hops` are the distinct hops, as words in `texts`.
    """

    words: Mapping[str, RelationWords]
    hops: list[Hop] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    written: list[Hops] = field(default_factory=list)
    _hop_numbers: dict[str, int] = field(default_factory=dict)
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _parents: list[int] = field(default_factory=list)
    _last: list[int] = field(default_factory=list)
    _depths: list[int] = field(default_factory=list)
    _frozen: _Arrays | None = None
    """A cache of the arrays; adding a path clears it."""

    def __len__(self) -> int:
        return len(self._parents)

    def number(self, hops: Hops) -> int:
        """Return the number of a path; a new path gets a new number."""
        at = ROOT
        for length, hop in enumerate(hops, start=1):
            key = (at, self._hop(hop))
            if key not in self._numbers:
                self._frozen = None
                self._numbers[key] = len(self._parents)
                self._parents.append(at)
                self._last.append(key[1])
                self._depths.append(length)
                self.written.append(hops[:length])
            at = self._numbers[key]
        return at

    def _hop(self, written: str) -> int:
        if written not in self._hop_numbers:
            hop = hop_of(written, self.words)
            self._hop_numbers[written] = len(self.hops)
            self.hops.append(hop)
            self.texts.append(verbalise_hop(hop))
        return self._hop_numbers[written]

    def path_hops(self, number: int) -> tuple[Hop, ...]:
        """Return the hops of a path in walking order."""
        found: list[Hop] = []
        while number != ROOT:
            found.append(self.hops[self._last[number]])
            number = self._parents[number]
        return tuple(reversed(found))

    def depths(self, numbers: Ints) -> Ints:
        """Return the number of hops of each path."""
        return self._arrays().depths[numbers]

    def parents(self, numbers: Ints) -> Ints:
        """Return the parent of each path."""
        return self._arrays().parents[numbers]

    def slice(self, numbers: Ints) -> PathSlice:
        """Return the part of the trie that these paths need, renumbered."""
        arrays = self._arrays()
        parents, last, depths = arrays.parents, arrays.last, arrays.depths
        needed = level = np.unique(numbers)
        while len(level := np.unique(parents[level])) and level[-1] != ROOT:
            level = level[level != ROOT]
            needed = np.union1d(needed, level)
        hops = np.unique(last[needed])
        rows: list[Ints] = []
        levels: list[PathLevel] = []
        for depth in range(1, int(depths[needed].max(initial=0)) + 1):
            here = needed[depths[needed] == depth]
            parent = np.full(len(here), ROOT) if depth == 1 else np.searchsorted(rows[-1], parents[here])
            levels.append(PathLevel(parent.astype(np.int64), np.searchsorted(hops, last[here]).astype(np.int64)))
            rows.append(here)
        ordered = np.concatenate([needed[:0], *rows])
        place = np.empty(len(parents), dtype=np.int64)
        place[ordered] = np.arange(len(ordered))
        return PathSlice(hops, tuple(levels), place[numbers])

    def _arrays(self) -> _Arrays:
        if self._frozen is None:
            columns = (self._parents, self._last, self._depths)
            self._frozen = _Arrays(*(np.array(column, dtype=np.int64) for column in columns))
        return self._frozen


@dataclass(frozen=True, slots=True)
class _Arrays:
    """For each path of a table: its parent, its last hop and its number of hops."""

    parents: Ints
    last: Ints
    depths: Ints


@dataclass(frozen=True, slots=True)
class PathLevel:
    """The paths of one length: the row of each path's parent in the level before, and of its last hop."""

    parents: Ints
    hops: Ints


@dataclass(frozen=True, slots=True)
class PathSlice:
    """Part of a `PathTable`. `hops` are numbers in the table; `levels` by length, from one hop; `rows[i]` is the place
    of the i-th requested path in the concatenated levels.
    """

    hops: Ints
    levels: Sequence[PathLevel]
    rows: Ints


ENOUGH_F1 = 0.5


def mark_remaining_paths(example: QuestionExample, table: PathTable) -> Bools:
    """Return which of the reachable paths do not use these relations, (num_reachable,)."""
    least = min(ENOUGH_F1, float(example.f1.max()))
    right = example.positive | ((example.f1 >= least) & example.is_right)
    paths = [table.written[path] for path in example.reachable.paths.tolist()]
    taken_out = {relation for row in np.flatnonzero(right).tolist() for relation in relations_of(paths[row])}
    return np.array([taken_out.isdisjoint(relations_of(path)) for path in paths])


def relations_of(hops: Hops) -> set[str]:
    """Return the relations of a path as a mined file writes it."""
    return {step.removeprefix(INVERSE) for hop in hops for step in hop.split(THROUGH)}


Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Paths of one question: their numbers in the table, and the question's topic each leaves from; (num_candidates,)
    each.
    """

    paths: Ints
    topics: Ints

    def __len__(self) -> int:
        return len(self.paths)

    def at(self, rows: Ints) -> Candidates:
        """Return the candidates at these rows."""
        return Candidates(self.paths[rows], self.topics[rows])

    def concatenate(self, others: Candidates) -> Candidates:
        """Return these candidates, then the others."""
        return Candidates(np.concatenate([self.paths, others.paths]), np.concatenate([self.topics, others.topics]))


@dataclass(frozen=True, slots=True)
class QuestionExample:
    """One question with every path reachable from its topics, and how good each is.

    masked: the question without each topic's mention. reachable: all paths in the graph. precision, recall and f1: of
    the ends of each, 0 if no end is right. positive: the positives of hard path mining among them. first_shortest: the
    row of the first shortest answer path, −1 if there is none. has_gold: the positives are an annotator's paths.
    negatives: the wrong paths that mining made, some of which are not in the graph.
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

    @property
    def is_right(self) -> Bools:
        """Which of the reachable paths lead to a right answer."""
        return self.f1 > 0


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """The examples of one mined file."""

    table: PathTable
    examples: tuple[QuestionExample, ...]
    mined: MinedFile


def examples_of(mined: MinedFile) -> ExampleSet:
    """Return the examples of a mined file, in its order."""
    table = PathTable(words_of(mined.mining))
    return ExampleSet(table, tuple(_example(question, table) for question in mined.questions), mined)


def _example(question: MinedQuestion, table: PathTable) -> QuestionExample:
    found = [(table.number(hops), topic) for topic, reach in enumerate(question.reach) for hops in iterate_paths(reach)]
    row = {key: at for at, key in enumerate(found)}
    values = np.zeros((3, len(found)), dtype=np.float32)
    positive = np.zeros(len(found), dtype=np.bool_)
    first_shortest = -1
    for path in question.paths:
        at = row.get((table.number(path.hops), path.topic))
        if at is None:
            continue  # mining cut the reach before this path
        values[:, at] = path.precision, path.recall, path.f1
        positive[at] = path.positive
        if path.shortest and first_shortest < 0:
            first_shortest = at
    return QuestionExample(
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
