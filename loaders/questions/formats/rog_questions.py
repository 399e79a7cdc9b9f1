"""RoG, NSM and what is made of them: a question with a subgraph each, which is not kept; JSON a line, or parquet.

RoG: `q_entity` and `answer` are lists of names; an id of Freebase among them is an id. Enriched: `answer_mids` beside
`answer`, one each (a literal stands in both), `ground_relation_paths` are the gold paths (an empty one, of a question
whose topic is its answer, is left out) and `gpt_triples` the triples. NSM: `answers` are objects with `kb_id` and
`text`; `entities` by id or such objects are the topics, while numbers say nothing without another file.
"""

from __future__ import annotations

from ....engine.questions.gold import GoldPath, GoldQuestion
from ..answers import distinct_texts, entity_id, freebase_answers
from ..question_record import QuestionFields


class RogQuestions:
    """Questions of RoG, NSM and their like."""

    shape = "JSON with id, question, q_entity, answer"

    def recognises(self, item: QuestionFields) -> bool:
        """Return whether it has topics as RoG or NSM call them."""
        return item.has("question") and (item.has("q_entity", "answer") or item.has("entities", "answers"))

    def question(self, item: QuestionFields) -> GoldQuestion:
        """Return the question; `InputError` without answers, or with ids for some of them."""
        topics = _topics(item)
        ids = [entity_id(topic) for topic in topics]
        return GoldQuestion(
            item.text("id"),
            item.text("question"),
            freebase_answers(_answers(item)),
            distinct_texts(entity for entity in ids if entity),
            distinct_texts(topic for topic, entity in zip(topics, ids, strict=True) if not entity),
            paths=tuple(dict.fromkeys(GoldPath(path) for path in item.rows("ground_relation_paths") if path)),
            triples=item.triples("gpt_triples"),
        )


def _topics(item: QuestionFields) -> list[str]:
    if item.has("q_entity"):
        return list(item.texts("q_entity"))
    found = [item.inner("entities", value) for value in item.values("entities") if not isinstance(value, int)]
    return [topic if isinstance(topic, str) else topic.text("kb_id") or topic.text("text") for topic in found]


def _answers(item: QuestionFields) -> list[tuple[str, list[str]]]:
    if not item.has("answer"):
        item.demand("answers")
        return [(answer.text("kb_id"), [answer.text("text")]) for answer in item.records("answers")]
    item.demand("answer")
    names = item.texts("answer")
    ids = item.texts("answer_mids") if item.has("answer_mids") else names
    if len(ids) != len(names):
        raise item.fault("one of answer_mids for each answer", f"{len(ids)} for {len(names)}")
    return [(entity, [name]) for entity, name in zip(ids, names, strict=True)]
