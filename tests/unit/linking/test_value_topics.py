"""Values in questions, and literals as topics, over a graph in memory."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lodestar.engine.linking import compute_link_penalties, look_up_topics, select_start_topics
from lodestar.engine.linking.full_text import find_value_topics, parse_values
from lodestar.engine.values import Entity, Question, Topic

from tests.fakes.call_context import make_context
from tests.fakes.memory_graph import MemoryGraph

GRAPH = MemoryGraph(
    [("ann", "hired", '"2016-07-16"^^<d>'), ("bob", "hired", '"2016-07-16T08:00:00"^^<t>'), ("ann", "wage", '"41000"')],
    literals={
        '"2016-07-16"^^<d>': "2016-07-16",
        '"2016-07-16T08:00:00"^^<t>': "2016-07-16T08:00:00",
        '"41000"': "41000",
    },
)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("hired on 2016-07-16?", [("2016-07-16",)]),
        ("hired on 16 July 2016?", [("2016-07-16", "16 July 2016")]),
        ("hired on July 1st, 2016?", [("2016-07-01", "July 1st, 2016")]),
        ("hired in 2016-07", [("2016-07",)]),
        ("born in 1970", [("1970",)]),
        ("hired on 2016-07-16, not in 1970", [("2016-07-16",), ("1970",)]),
        ("a salary of 41,000 EUR", [("41,000 EUR", "41,000EUR", "41000 EUR"), ("41000", "41,000")]),
        ("the motto “carpe diem”", [("carpe diem",)]),
        ('the "best of 50"', [("best of 50",)]),
        ("7 things, v1.2, A4", []),
        ("7 things or 42", [("42",)]),
        ("17 of 1,000", [("17 of", "17of"), ("17",), ("1000", "1,000")]),
    ],
)
def test_values_in_a_question(text: str, written: list[tuple[str, ...]]) -> None:
    assert [value.written for value in parse_values(text)] == written


def test_a_date_is_surer_than_a_number_and_both_stand_in_the_question() -> None:
    text = "who was hired on 2016-07-16 for 41000"
    (found,) = find_value_topics(make_context(GRAPH).db, [text])
    assert [
        (topic.matched_name, topic.score, topic.probability, topic.mention, topic.span, topic.kind) for topic in found
    ] == [
        ("2016-07-16", 0.9, 0.9, "2016-07-16", (17, 27), "value"),
        ("2016-07-16T08:00:00", 0.9, 0.9, "2016-07-16", (17, 27), "value"),
        ("41000", 0.5, 0.5, "41000", (32, 37), "value"),
    ]


def test_a_search_starts_from_all_that_is_given_else_from_the_best_that_are_likely_enough() -> None:
    found = [Topic(Entity(id_), score=score, matched_name=id_) for id_, score in (("a", 0.8), ("b", 0.4), ("c", 0.3))]
    given = Topic(Entity("d"))

    def starts(topics: Sequence[Topic], most: int, least: float) -> list[str]:
        return [topic.entity.id for topic in select_start_topics(topics, most, least)]

    assert starts(found, 9, 0.5) == ["a", "b"]
    assert starts(found, 1, 0.5) == ["a"]
    assert starts([given, given], 1, 0.5) == ["d", "d"]
    assert starts([given, *found], 2, 0.5) == ["d", "a"]
    assert compute_link_penalties(found[:2], 0.5) == pytest.approx({"a": 0, "b": -0.2})
    assert compute_link_penalties([], 0.5) == {}


def test_a_literal_that_the_asker_names_by_id() -> None:
    (question,) = look_up_topics(make_context(GRAPH).db, [Question("who?", ('"41000"',))], [()])
    assert [(t.entity.label, t.matched_name) for t in question.topics] == [("41000", "")]
