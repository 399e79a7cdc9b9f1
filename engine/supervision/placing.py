"""Look up the topic entities and gold answers of questions in the graph, by id or, without ids, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...models.star.mined import MinedTopic
from ...models.words import fold_spelling
from ..gold_questions import A_REQUEST, GoldAnswer, GoldQuestion
from ..neo4j.graph import EntitySignature, read_signatures
from ..neo4j.mining import find_entities_by_name
from ..neo4j.templates import split_into_requests
from ..steps import Steps, send_all

NO_TOPIC = "no topic in the graph"
NO_ANSWER = "no answer in the graph"
NO_OTHER = "no answer but its topics"
NO_PATH = "no path to an answer"
REASONS = (NO_TOPIC, NO_ANSWER, NO_OTHER, NO_PATH)


@dataclass(frozen=True, slots=True)
class SkippedQuestion:
    """A question that cannot be used for training; `reason` is one of `REASONS`."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class GroundedQuestion:
    """A question with those of its topics and gold answers that are in the graph."""

    question: GoldQuestion
    topics: tuple[MinedTopic, ...]
    answers: frozenset[str]


def ground_questions(
    questions: Sequence[GoldQuestion], *, return_to_topic: bool = False, open_domain: bool = False
) -> Steps[tuple[list[GroundedQuestion | SkippedQuestion], dict[str, EntitySignature]]]:
    """Look the questions up; return them with the signatures of their topics. return_to_topic: topics may be answers.

    open_domain: also take questions whose answers are not in the graph.
    """
    names = dict.fromkeys(
        name
        for question in questions
        for name in (*_topic_names(question), *(name for answer in question.answers for name in _names(answer)))
    )
    by_name = yield from send_all([find_entities_by_name(some) for some in split_into_requests(names, A_REQUEST, len)])
    named = {name: ids for some in by_name for name, ids in some.items()}
    ids = dict.fromkeys(
        id_
        for question in questions
        for id_ in (*_topic_ids(question, named), *(answer.id for answer in question.answers if answer.id))
    )
    by_id = yield from send_all([read_signatures(some) for some in split_into_requests(ids, A_REQUEST, len)])
    signatures = {id_: signature for some in by_id for id_, signature in some.items()}
    found = [
        _place_question(question, named, signatures, return_to_topic=return_to_topic, open_domain=open_domain)
        for question in questions
    ]
    topics = {
        topic.id: signatures[topic.id] for each in found if isinstance(each, GroundedQuestion) for topic in each.topics
    }
    return found, topics


def _place_question(
    question: GoldQuestion,
    named: Mapping[str, Sequence[str]],
    signatures: Mapping[str, EntitySignature],
    *,
    return_to_topic: bool,
    open_domain: bool,
) -> GroundedQuestion | SkippedQuestion:
    topics = tuple(
        MinedTopic(id_, _mention(question, id_, named, signatures[id_]))
        for id_ in _topic_ids(question, named)
        if id_ in signatures
    )
    by_id = signatures.keys() & {answer.id for answer in question.answers}
    by_name = {id_ for answer in question.answers for name in _names(answer) for id_ in named.get(name, ())}
    if not topics:
        return SkippedQuestion(question.id, NO_TOPIC)
    answers = frozenset(by_id | by_name)
    if open_domain:
        return GroundedQuestion(question, topics, answers)
    if not answers:
        return SkippedQuestion(question.id, NO_ANSWER)
    if not return_to_topic and answers <= {topic.id for topic in topics}:
        return SkippedQuestion(question.id, NO_OTHER)
    return GroundedQuestion(question, topics, answers)


def _topic_names(question: GoldQuestion) -> tuple[str, ...]:
    return () if question.topic_ids else question.topic_names


def _topic_ids(question: GoldQuestion, named: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    found = question.topic_ids or [id_ for name in question.topic_names for id_ in named.get(name, ())]
    return tuple(dict.fromkeys(found))


def _names(answer: GoldAnswer) -> tuple[str, ...]:
    return () if answer.id else answer.names


def _mention(question: GoldQuestion, id_: str, named: Mapping[str, Sequence[str]], signature: EntitySignature) -> str:
    """Return the set's name for a topic if the question contains it, else its label in the graph."""
    label = signature.entity.label
    if question.topic_ids:
        both = zip(question.topic_ids, question.topic_names, strict=False)
        names = [name for other, name in both if other == id_ and len(question.topic_ids) == len(question.topic_names)]
    else:
        names = [name for name in question.topic_names if id_ in named.get(name, ())]
    text = fold_spelling(question.text)
    return next((name for name in names if fold_spelling(name) in text), label)
