"""Values in questions, and literals as topics, over a graph in memory."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lodestar.engine.linking.topics import look_up_topics
from lodestar.engine.linking.values import MAX_VALUES, ValueLinker, parse_values
from lodestar.engine.retrieval.beam import BeamSearch
from lodestar.engine.steps import Steps
from lodestar.engine.values import Entity, LinkedQuestion, Question, Topic

from tests.fakes.memory_graph import MemoryGraph
from tests.fakes.word_scorer import WordScorer

GRAPH = MemoryGraph(
    [("ann", "hired", '"2016-07-16"^^<d>'), ("bob", "hired", '"2016-07-16T08:00:00"^^<t>'), ("ann", "wage", '"41000"')],
    literals={
        '"2016-07-16"^^<d>': "2016-07-16",
        '"2016-07-16T08:00:00"^^<t>': "2016-07-16T08:00:00",
        '"41000"': "41000",
    },
)


class Nobody:
    """A linker that knows `ann`, wherever it is asked."""

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Topic, ...]]]:
        yield from ()
        return [
            (Topic(Entity("ann", "ann"), 2, score=0.6, mention="ann", matched_name="ann", probability=None),)
            for _ in questions
        ]

    def rerank(self, questions: Sequence[Question], found: Sequence[Sequence[Topic]]) -> list[list[Topic]]:
        return [list(some) for some in found]


def linked(text: str) -> LinkedQuestion:
    linker = ValueLinker(Nobody())

    def steps() -> Steps[list[LinkedQuestion]]:
        found = yield from linker.link([Question(text)])
        return (yield from look_up_topics([Question(text)], found, linker))

    return GRAPH.run(steps())[0]


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
    ],
)
def test_values_in_a_question(text: str, written: list[tuple[str, ...]]) -> None:
    assert [value.written for value in parse_values(text)] == written


def test_values_are_bounded() -> None:
    assert len(parse_values(" ".join(str(number) for number in range(100, 200)))) == MAX_VALUES


def test_a_literal_is_a_topic_beside_the_entities() -> None:
    topics = linked("who was hired on 16 July 2016").topics
    assert [(t.entity.label, t.mention) for t in topics] == [
        ("2016-07-16", "16 July 2016"), ("2016-07-16T08:00:00", "16 July 2016"), ("ann", "ann"),
    ]  # fmt: skip


def test_a_number_is_less_sure_than_a_name() -> None:
    assert [topic.entity.label for topic in linked("who has a wage of 41000").topics] == ["ann", "41000"]


def test_of_two_values_that_overlap_the_longer_is_a_topic() -> None:
    graph = MemoryGraph(
        [("ann", "wage", '"41,000 EUR"'), ("bob", "wage", '"41000"'), ("bob", "born", '"1970"')],
        literals={'"41,000 EUR"': "41,000 EUR", '"41000"': "41000", '"1970"': "1970"},
    )
    question = Question("who was born in 1970 or has a salary of 41,000 EUR")
    (found,) = graph.run(ValueLinker(Nobody()).link([question]))
    assert [topic.entity.label for topic in found if topic.entity.is_literal] == ["1970", "41,000 EUR"]


def test_a_date_within_a_quoted_title_is_a_part_of_it() -> None:
    graph = MemoryGraph(
        [("ann", "played", '"live 1970-05-01"'), ("bob", "born", '"1970-05-01"')],
        literals={'"live 1970-05-01"': "live 1970-05-01", '"1970-05-01"': "1970-05-01"},
    )
    (found,) = graph.run(ValueLinker(Nobody()).link([Question('who played "live 1970-05-01"')]))
    assert [topic.entity.label for topic in found if topic.entity.is_literal] == ["live 1970-05-01"]


def test_a_search_walks_back_from_a_literal() -> None:
    question = linked("hired 2016-07-16")
    (found,) = GRAPH.run(
        BeamSearch(GRAPH.numbered, WordScorer(), max_hop=1, return_to_topic=True).retrieve([question], 10)
    )
    ends = {str(i.value.topic.label): {e.id for e in i.value.ends} for i in found.items if i.value.topic.is_literal}
    assert ends == {"2016-07-16": {"ann"}, "2016-07-16T08:00:00": {"bob"}}


def test_a_literal_that_the_asker_names_by_id() -> None:
    def steps() -> Steps[list[LinkedQuestion]]:
        return (yield from look_up_topics([Question("who?", ('"41000"',))], [()]))

    (question,) = GRAPH.run(steps())
    assert [(t.entity.label, t.is_given) for t in question.topics] == [("41000", True)]


def test_a_topic_that_the_asker_names_by_its_name() -> None:
    graph = MemoryGraph([("ann_lee", "hired", "bob")])
    question = Question("whom did she hire", topic_entities=("Ann Lee", "nobody"))
    (found,) = graph.run(look_up_topics([question], [()]))
    assert [topic.entity.id for topic in found.topics] == ["ann_lee"]


def test_a_question_without_values_asks_nothing_more() -> None:
    GRAPH.requests.clear()
    assert [t.entity.id for t in linked("who is ann").topics] == ["ann"]
    assert GRAPH.requests == ["read_signatures"]
