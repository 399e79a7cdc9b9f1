"""The figures of a graph, from degrees at hand."""

from __future__ import annotations

import pytest
from lodestar.engine.neo4j.whole_graph import DegreeCount, summarise_degrees


def test_degrees_are_summed_up() -> None:
    found = summarise_degrees([DegreeCount(0, 1, 0), DegreeCount(1, 5, 5), DegreeCount(2, 3, 1), DegreeCount(40, 1, 1)])
    assert found == {"min": 0, "median": 1, "mean": pytest.approx(5.1), "p90": 2, "p99": 40, "max": 40}
