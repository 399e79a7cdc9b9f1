"""Functions mapped on processes: results in the order of the items, faults in their turn."""

from __future__ import annotations

import math

import pytest
from lodestar.loaders.stage.processes import MapOnProcesses


def test_results_come_in_the_order_of_the_items_and_faults_in_their_turn() -> None:
    found = MapOnProcesses(2)(math.sqrt, [4.0, 9.0, -1.0, 16.0])
    assert [next(found), next(found)] == [2.0, 3.0]
    with pytest.raises(ValueError, match=r"domain|nonnegative"):
        next(found)
    assert list(found) == []


def test_an_end_before_the_end_leaves_the_rest_undone() -> None:
    found = MapOnProcesses(1)(math.sqrt, [4.0] * 1_000)
    assert next(found) == 2.0
    found.close()
    assert list(found) == []
