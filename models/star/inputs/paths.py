"""Relation paths by number: a trie that all questions of a mined file share, so that each path is encoded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...verbalise import Hop, RelationWords, verbalise_hop
from ..mined import Hops, hop_of

Ints = npt.NDArray[np.int64]

ROOT = -1
"""The parent of a path of one hop."""


@dataclass(slots=True)
class PathTable:
    """Paths by number; a path's parent is the path without its last hop, and has a smaller number.

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
    """The last three, until a path is added."""

    def __len__(self) -> int:
        return len(self._parents)

    def number(self, hops: Hops) -> int:
        """Return the number of a path, a new one for a path not met before."""
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
        """Return the part of the trie that these paths need, numbered anew."""
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
        ordered = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
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
    """Of each path of a table: its parent, its last hop, how many hops it has."""

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
    """Part of a `PathTable`. `hops` are numbers in the table; `levels` by length, from one hop; `rows[i]` is where, in
    the levels one after the other, the path stands that was asked for in place i."""

    hops: Ints
    levels: Sequence[PathLevel]
    rows: Ints
