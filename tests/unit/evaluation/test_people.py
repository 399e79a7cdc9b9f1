"""The graphs and questions of people: shape, and that every answerable question has an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.people.asked import answer, read_questions, walk
from tests.people.form_graphs import FORM_DEV
from tests.people.graphs import DEV, HELD_OUT, Graph, write
from tests.people.kept_graphs import KEPT
from tests.people.more_graphs import MORE_DEV

KINDS = {"one": 16, "two": 8, "form": 6, "none": 10}
KINDS_OF_FORM_GRAPHS = {"one": 10, "two": 6, "form": 14, "none": 14}


@pytest.mark.parametrize("make", DEV + MORE_DEV + FORM_DEV + HELD_OUT + KEPT, ids=lambda make: make.__name__)
def test_a_graph_has_the_size_and_the_questions_it_should_have(make: Callable[[], Graph], tmp_path: Path) -> None:
    graph = make()
    assert 300 <= len(graph.triples) <= 600
    assert make().triples == graph.triples
    asked = read_questions(graph)
    assert Counter(question.kind for question in asked) == (KINDS_OF_FORM_GRAPHS if make in FORM_DEV + KEPT else KINDS)
    assert [q.text for q in asked if bool(q.answers) == (q.kind == "none")] == []
    assert [q.text for q in asked if q.form in ("max", "min") and len(q.answers) > 1] == []
    command = write(graph, tmp_path)
    assert sum(len(line) for line in Path(command[1]).read_text(encoding="utf-8").splitlines()) < 100_000


@pytest.mark.parametrize("make", FORM_DEV + KEPT, ids=lambda make: make.__name__)
def test_the_forms_are_spread_evenly(make: Callable[[], Graph]) -> None:
    asked = read_questions(make())
    assert Counter(q.form for q in asked if q.form) == {"count": 4, "yes": 4, "max": 3, "min": 3}
    assert Counter(min(q.answers) for q in asked if q.form == "yes") == {"yes": 2, "no": 2}


def test_answers_are_worked_out_on_the_graph() -> None:
    graph = Graph("toy", 1, [("a", "has", "b"), ("a", "has", "c"), ("b", "size", "9"), ("c", "size", "10")])
    assert walk(graph, "9 > ^size > ^has") == ["a"]
    assert answer(graph, "count: a > has") == ("count", frozenset({"2"}))
    assert answer(graph, "yes: a > has = d") == ("yes", frozenset({"no"}))
    assert answer(graph, "max: a > has ; size") == ("max", frozenset({"c"}))
    assert answer(graph, "none") == ("", frozenset())
