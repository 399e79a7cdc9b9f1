"""Each feature of the ways of a table by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lodestar.models.reader.model import NAMES, SourceChainColumns, way_features

COLUMNS = SourceChainColumns(
    question=np.array([0, 0, 0, 1, 1]),
    topic=np.array([0, 1, 0, 0, 0]),
    hops=np.array([1, 2, 3, -1, 4]),
    score=np.array([3.0, 1.0, -9.0, 2.0, 2.0]),
    mean=np.array([3.0, 2.0, 4.0, 2.0, 1.0]),
    num_ends=np.array([2, 1, 1, 3, 1]),
    similarity=np.array([0.5, 0.2, 0.1, 0.4, 0.6]),
    kind=np.array([0.3, 0.6, 0.1, 0.2, 0.1]),
    candidate=np.array([0, 1, 1, 2, 3, 4, 4]),
    chain=np.array([0, 0, 1, 2, 3, 3, 4]),
    last=np.array([2.0, 1.0, 0.5, 1.0, 0.0, -12.0, 3.0]),
    way=np.array([1.0, 3.0, 1.0, 2.0, -12.0, 2.0, 2.5]),
    on=np.array([-12.0, 4.0, -11.0, 11.0, -12.0, -12.0, 3.5]),
    path=np.zeros((5, 1), dtype=np.int64),
    hop_vectors=np.zeros((1, 2), dtype=np.float32),
    plan=np.array([2.0, 1.0, -12.0, 0.0, 0.0]),
    num_topics=np.array([2, 1]),
    wants_one=np.array([True, False]),
    num_candidates=5,
)
"""Two questions with three chains and two, of two topics and one; seven ways to five candidates."""
LN2, LN3, LN4 = np.log([2.0, 3.0, 4.0])
OF_PLAN = np.log(1 + np.exp(-1) + np.exp(-14))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("two", [0, 0, 1, 0, 0, 0, 0]),
        ("three", [0, 0, 0, 1, 0, 0, 1]),
        ("loose", [0, 0, 0, 0, 1, 1, 0]),
        ("chain", [3, 3, 1, -9, 2, 2, 2]),
        ("behind", [0, 0, -2, -8, 0, 0, 0]),
        ("rank", [0, 0, -LN2, -LN3, 0, 0, 0]),
        ("steady", [0, 0, 1, 8, 0, 0, -1]),
        ("last", [2, 1, 0.5, 1, 0, -12, 3]),
        ("last_behind", [0, -1, 0, 0, 0, -8, 0]),
        ("way", [-2, 0, 0, 8, -8, 0, 0.5]),
        ("on", [0, 3, -8, 8, 0, 0, 0.5]),
        ("on_first", [0, 3, 0, 0, 0, 0, 0]),
        ("stops", [1, 0, 0, 0, 1, 1, 0]),
        ("ends", [LN3, LN3, LN2, LN2, LN4, LN4, LN2]),
        ("ways", [0, LN2, LN2, 0, 0, LN2, LN2]),
        ("similarity", [0.5, 0.5, 0.2, 0.1, 0.4, 0.4, 0.6]),
        ("similarity_behind", [0, 0, -0.3, -0.4, -0.2, -0.2, 0]),
        ("kind", [0.3, 0.3, 0.6, 0.1, 0.2, 0.2, 0.1]),
        ("kind_behind", [-0.3, -0.3, 0, -0.5, 0, 0, -0.1]),
        ("plan", [-OF_PLAN, -OF_PLAN, -1 - OF_PLAN, -8, -LN2, -LN2, -LN2]),
        ("plan_behind", [0, 0, -1, -8, 0, 0, 0]),
        ("met", [0, 0.5, 0.5, 0, 0, 0, 0]),
        ("one", [LN3, LN3, LN2, LN2, 0, 0, 0]),
    ],
)
def test_each_feature_by_hand(name: str, expected: list[float]) -> None:
    assert way_features(COLUMNS)[:, NAMES.index(name)] == pytest.approx(expected)


def test_without_a_plan_nothing_is_said_of_one() -> None:
    found = way_features(replace(COLUMNS, plan=np.zeros(0)))
    assert not found[:, [NAMES.index("plan"), NAMES.index("plan_behind")]].any()
