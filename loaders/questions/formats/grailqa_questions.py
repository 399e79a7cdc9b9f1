"""GrailQA as published, an array of questions with a graph query each, over Freebase; and flat, one a line.

Published: the topic entities are the entity nodes of the graph query, and the walk from each to the question node is a
gold path. An edge may be half of a fact with a mediator, so that `num_edge` says nothing about hops. Flat: `relations`,
`topic_entities` [id, name] and `answers` [id or literal, name]; the relations are sorted by name and how they join is
not said, so that there is a gold path only where one relation is all there is to walk from a topic.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....engine.questions.gold import GoldPath, GoldQuestion
from ...reading.records import value_shown
from ..answers import distinct_texts, freebase_answers
from ..question_record import QuestionFields

_PAIR = 2


class GrailqaQuestions:
    """Questions of GrailQA."""

    shape = "JSON with qid, question, answer, graph_query (or id, question, relations, topic_entities, answers)"

    def recognises(self, item: QuestionFields) -> bool:
        """Return whether it has a `qid` or relations."""
        return item.has("question") and (item.has("qid") or item.has("relations", "answers"))

    def question(self, item: QuestionFields) -> GoldQuestion:
        """Return the question; `InputError` without a list of answers, as where they are held back."""
        return _flat(item) if item.has("relations") else _published(item)


def _published(item: QuestionFields) -> GoldQuestion:
    item.demand("answer")
    query = item.record("graph_query")
    topics = [node for node in query.records("nodes") if node.text("node_type") == "entity"]
    return GoldQuestion(
        item.text("qid"),
        item.text("question"),
        freebase_answers(
            (answer.text("answer_argument"), [answer.text("entity_name")]) for answer in item.records("answer")
        ),
        distinct_texts(node.text("id") for node in topics),
        distinct_texts(node.text("friendly_name") for node in topics),
        paths=tuple(dict.fromkeys(_walks(query, topics))),
    )


def _flat(item: QuestionFields) -> GoldQuestion:
    item.demand("answers")
    topics = _pairs(item, "topic_entities")
    relations = distinct_texts(item.texts("relations"))
    return GoldQuestion(
        item.text("id"),
        item.text("question"),
        freebase_answers((argument, [name]) for argument, name in _pairs(item, "answers")),
        distinct_texts(entity for entity, _ in topics),
        distinct_texts(name for _, name in topics),
        paths=(GoldPath(relations),) if topics and len(relations) == 1 else (),
    )


def _pairs(item: QuestionFields, name: str) -> list[tuple[str, str]]:
    rows = item.rows(name)
    for row in rows:
        if len(row) != _PAIR:
            raise item.fault(f"[id, name] in {name}", value_shown(row))
    return [(row[0], row[1]) for row in rows]


def _walks(query: QuestionFields, topics: list[QuestionFields]) -> Iterator[GoldPath]:
    """Yield the shortest walk from each topic to the question node, edges taken either way."""
    edges = [(edge.text("start"), edge.text("relation"), edge.text("end")) for edge in query.records("edges")]
    goals = {node.text("nid") for node in query.records("nodes") if node.whole_number("question_node")}
    for topic in topics:
        walks: dict[str, tuple[str, ...]] = {topic.text("nid"): ()}
        waiting = list(walks)
        for node in waiting:
            for start, relation, end in edges:
                for here, there in ((start, end), (end, start)):
                    if here == node and there not in walks and relation:
                        walks[there] = (*walks[node], relation)
                        waiting.append(there)
        yield from (GoldPath(walks[goal]) for goal in sorted(goals & walks.keys()) if walks[goal])
