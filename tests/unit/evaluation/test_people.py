"""The graphs and questions of people: shape, and that every answerable question has an answer."""

from __future__ import annotations

from tests.people.asked import answer, walk
from tests.people.graphs import Graph


def test_answers_are_worked_out_on_the_graph() -> None:
    graph = Graph("toy", [("a", "has", "b"), ("a", "has", "c"), ("b", "size", "9"), ("c", "size", "10")])
    assert walk(graph, "9 > ^size > ^has") == ["a"]
    assert answer(graph, "count: a > has") == ("count", frozenset({"2"}))
    assert answer(graph, "yes: a > has = d") == ("yes", frozenset({"no"}))
    assert answer(graph, "max: a > has ; size") == ("max", frozenset({"c"}))
    assert answer(graph, "none") == ("", frozenset())
