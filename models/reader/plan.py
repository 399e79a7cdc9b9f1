"""Learn which relation paths a question asks for: a bilinear score of question and path, for any number of hops.

    logit(path | q) = q · L · v_last + Σ_k q · S · v_k + q · l_length
    v of a hop = [u, d · u], u the unit vector of its words, d = −1 where its first step goes against the relation

q is the unit vector of the question without its topics. P is the softmax over the paths that a source has for the
question. Fitted by Adam on the likelihood of the paths whose ends agree best with the right answers. Our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .features import Floats, Ints, SourceChainColumns

Single = npt.NDArray[np.floating[Any]]
MAX_HOPS = 4
"""Longer paths count as of so many hops."""
PENALTY = 1e-4
RATE = 0.03
STEPS = 100


@dataclass(frozen=True, slots=True, eq=False)
class PathPlan:
    """last, steps: L and S, (dimension, 2 · dimension). length: (dimension, MAX_HOPS + 1)."""

    last: Single
    steps: Single
    length: Single

    def score(self, vectors: npt.NDArray[np.floating[Any]], ways: SourceChainColumns) -> Floats:
        """Return the logit of each chain's path, (num_chains,). vectors: of questions, (num_questions, dimension)."""
        exact = PathPlan(*(each.astype(np.float64) for each in (self.last, self.steps, self.length)))
        return _score(exact, _Paths.of([(vectors, ways)])).round(5)  # the same alone and in a batch


@dataclass(frozen=True, slots=True, eq=False)
class _Paths:
    """The paths of several sets: group, hops, length: (num_paths, …); vectors of groups and of hops."""

    vectors: Single
    hop_vectors: Single
    group: Ints
    hops: Ints
    length: Ints

    @classmethod
    def of(cls, sets: Sequence[tuple[npt.NDArray[np.floating[Any]], SourceChainColumns]]) -> _Paths:
        groups = np.cumsum([0, *(len(vectors) for vectors, _ in sets)])
        tables = np.cumsum([0, *(len(ways.hop_vectors) for _, ways in sets)])
        most = max((ways.path.shape[1] for _, ways in sets), default=0)
        hops = np.full((sum(len(ways.path) for _, ways in sets), most), -1)
        start = 0
        for (_, ways), shift in zip(sets, tables, strict=False):
            num_paths, width = ways.path.shape
            hops[start : start + num_paths, :width] = np.where(ways.path < 0, -1, ways.path + shift)
            start += num_paths
        return cls(
            np.concatenate([vectors for vectors, _ in sets]).astype(np.float32),
            np.concatenate([ways.hop_vectors for _, ways in sets], dtype="f4"),
            np.concatenate([ways.question + shift for (_, ways), shift in zip(sets, groups, strict=False)]),
            hops,
            np.minimum((hops >= 0).sum(axis=1), MAX_HOPS),
        )


def fit_plan(sets: Sequence[tuple[npt.NDArray[np.floating[Any]], SourceChainColumns, Floats]]) -> PathPlan:
    """Return the plan fitted on sets: vectors of the questions, columns, and how right each chain is, (num_chains,).

    Of a question's chains those are wanted that are the rightest; a question without a right one teaches nothing.
    """
    paths = _Paths.of([(vectors, ways) for vectors, ways, _ in sets])
    right = np.concatenate([each for _, _, each in sets])
    num_groups, num_hops = len(paths.vectors), len(paths.hop_vectors)
    best = np.zeros(num_groups)
    np.maximum.at(best, paths.group, right)
    wanted = (right > 0) & (right >= best[paths.group] - 1e-9)
    known = best > 0
    target = wanted / np.maximum(np.bincount(paths.group[wanted], minlength=num_groups), 1)[paths.group]
    dimension = paths.vectors.shape[1]
    plan = PathPlan(*(np.zeros((dimension, n), dtype=np.float32) for n in (2 * dimension, 2 * dimension, MAX_HOPS + 1)))
    if not known.any():
        return plan
    at, means, squares = paths.hops >= 0, [0.0] * 3, [0.0] * 3
    for step in range(1, STEPS + 1):
        scores = _score(plan, paths)
        highest = np.full(num_groups, -np.inf)
        np.maximum.at(highest, paths.group, scores)
        powers = np.exp(scores - highest[paths.group])
        shares = powers / np.bincount(paths.group, weights=powers)[paths.group]
        error = np.where(known[paths.group], shares - target, 0.0) / known.sum()
        last = paths.hops[np.arange(len(error)), np.maximum(paths.length - 1, 0)]
        ended = last >= 0
        of_last = _sum_at(paths.group[ended], last[ended], error[ended], num_groups, num_hops)
        row, _ = np.nonzero(at)
        of_steps = _sum_at(paths.group[row], paths.hops[at], error[row], num_groups, num_hops)
        of_length = _sum_at(paths.group, paths.length, error, num_groups, MAX_HOPS + 1)
        tables = (plan.last, plan.steps, plan.length)
        gradients: list[Any] = [
            paths.vectors.T @ (of_last @ paths.hop_vectors),
            paths.vectors.T @ (of_steps @ paths.hop_vectors),
            paths.vectors.T @ of_length,
        ]
        rate = RATE * (1 - (step - 1) / STEPS)
        for place, table in enumerate(tables):
            gradients[place] += PENALTY * table
            means[place] = 0.9 * means[place] + 0.1 * gradients[place]
            squares[place] = 0.99 * squares[place] + 0.01 * gradients[place] ** 2
            table[:] -= rate * (means[place] / (1 - 0.9**step)) / (np.sqrt(squares[place] / (1 - 0.99**step)) + 1e-8)
    return plan


def _score(plan: PathPlan, paths: _Paths) -> Floats:
    found = (paths.vectors @ plan.length)[paths.group, paths.length].astype(np.float64)
    if not len(paths.hop_vectors):
        return found
    at = paths.hops >= 0
    last = paths.hops[np.arange(len(found)), np.maximum(paths.length - 1, 0)]
    of_last = (paths.vectors @ plan.last) @ paths.hop_vectors.T
    of_steps = (paths.vectors @ plan.steps) @ paths.hop_vectors.T
    found += np.where(last >= 0, of_last[paths.group, last], 0.0)
    found += np.where(at, of_steps[paths.group[:, None], paths.hops], 0.0).sum(axis=1)
    return found


def _sum_at(rows: Ints, columns: Ints, values: Floats, num_rows: int, num_columns: int) -> Single:
    flat = np.bincount(rows * num_columns + columns, weights=values, minlength=num_rows * num_columns)
    return flat.reshape(num_rows, num_columns).astype(np.float32)
