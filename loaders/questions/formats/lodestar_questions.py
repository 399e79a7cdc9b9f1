"""Lodestar's own: one JSON object a line.

`question`, `answers` (ids, or objects with `id`, `names` or both; empty where the right thing is to abstain); optional
`id`, `topic_entities` (ids), `topic_names`, `num_hops` (else `min_hops`), `paths` (lists of relations, or objects with
`relations` and `entities`), `triples` ([head, relation, tail]) and `options` (texts, one of which is the answer's
name).
"""

from __future__ import annotations

from collections.abc import Iterator

from ....engine.questions.gold import GoldAnswer, GoldPath, GoldQuestion
from ...reading.records import value_shown
from ..answers import distinct_answers, distinct_texts
from ..question_record import QuestionFields


class LodestarQuestions:
    """Questions by ids of any graph."""

    shape = "JSON with id, question, topic_entities, answers"

    def recognises(self, item: QuestionFields) -> bool:
        """Return whether it has a question and answers."""
        return item.has("question", "answers")

    def question(self, item: QuestionFields) -> GoldQuestion:
        """Return the question; `InputError` for an answer that is neither an id nor has a name."""
        item.demand("answers")
        num_hops = item.whole_number("num_hops")
        return GoldQuestion(
            item.text("id"),
            item.text("question"),
            distinct_answers(_answers(item)),
            distinct_texts(item.texts("topic_entities")),
            distinct_texts(item.texts("topic_names")),
            item.whole_number("min_hops") if num_hops is None else num_hops,
            tuple(_paths(item)),
            item.triples("triples"),
            options=item.texts("options"),
        )


def _answers(item: QuestionFields) -> Iterator[GoldAnswer]:
    for value in item.values("answers"):
        written = item.inner("answers", value)
        entity = written if isinstance(written, str) else written.text("id")
        names = () if isinstance(written, str) else distinct_texts(written.texts("names"))
        if not entity and not names:
            raise item.fault("an id or an object with id or names as answer", value_shown(value))
        yield GoldAnswer(entity or None, names)


def _paths(item: QuestionFields) -> Iterator[GoldPath]:
    for value in item.values("paths"):
        path = QuestionFields(
            value if isinstance(value, dict) else {"relations": value}, item.number, f"{item.where}, paths"
        )
        relations, entities = path.texts("relations"), path.texts("entities")
        if not all(relations) or not relations or (entities and len(entities) != len(relations) + 1):
            raise path.fault("relations, and no entities or one more", f"{len(relations)} and {len(entities)}")
        yield GoldPath(relations, entities)
