"""Hold questions with their gold answers, and look these answers up in the graph."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..models.mined_files import MinedTopic
from ..models.wording import casefold_nfkc
from .data_model import Question
from .neo4j import Request, load_query, split_into_request_batches
from .neo4j.gateway import Gateway
from .neo4j.graph_requests import EntitySignature, find_entities_by_name, read_search_names, read_signatures


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """One gold answer: an entity's id, its names, or both.

    An answer that is no entity (a number, a date) has its text as the only name.
    """

    id: str | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldPath:
    """A reasoning path to an answer, as annotators wrote it: in walking order, without directions.

    `entities` is one longer than `relations`, or empty if only the relations are known.
    """

    relations: tuple[str, ...]
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with its topic entities (ids, or names if the set gives no ids) and its gold answers.

    `answers` is empty if the question should be abstained from. `num_hops` is None if the set does not give it.
    `options` are the choices of a multiple-choice question; one of them is the answer's name.
    """

    id: str
    text: str
    answers: tuple[GoldAnswer, ...]
    topic_ids: tuple[str, ...] = ()
    topic_names: tuple[str, ...] = ()
    num_hops: int | None = None
    paths: tuple[GoldPath, ...] = ()
    options: tuple[str, ...] = ()

    def as_question(self, topic_entities: tuple[str, ...]) -> Question:
        """Return the question for the engine, starting from these entities; without any, the linker finds them."""
        return Question(self.text, topic_entities, self.id, self.options)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of one file in its order, with distinct ids. `sha256` is of the file's bytes."""

    name: str
    format: str
    sha256: str
    questions: tuple[GoldQuestion, ...]

    def sample(self, limit: int | None, seed: int) -> tuple[GoldQuestion, ...]:
        """Return a random sample in the order of the set, or all questions if there is no limit or it is larger."""
        if limit is None or limit >= len(self.questions):
            return self.questions
        chosen = random.Random(seed).sample(range(len(self.questions)), limit)  # noqa: S311 - a sample, no secret
        return tuple(self.questions[index] for index in sorted(chosen))


A_REQUEST = 10_000
MAX_SHOWN_CHARS = 80
"""Of a name in a warning."""


@dataclass(frozen=True, slots=True)
class ResolvedGoldQuestions:
    """Questions whose gold answers were looked up in the graph.

    num_answers: distinct gold answers with an id. num_unknown: those whose id is no entity of the graph; they are
    matched by name, or by their value if they are written as literals.
    """

    questions: tuple[GoldQuestion, ...]
    num_answers: int
    num_unknown: int

    @property
    def warning(self) -> str:
        """A warning for the user if most of the gold answers are no entities of the graph, else an empty text."""
        if not self.num_answers or self.num_unknown <= self.num_answers // 2:
            return ""
        named = (
            answer.names[0][:MAX_SHOWN_CHARS]
            for question in self.questions
            for answer in question.answers
            if answer.id is None
        )
        return (
            f"{self.num_unknown:,} of {self.num_answers:,} right answers are no ids of this graph and look like names "
            f"or values (the first: {next(named, '')!r}): they are matched by name"
        )


def look_up_gold_answers(questions: Sequence[GoldQuestion], gateway: Gateway) -> ResolvedGoldQuestions:
    """Look gold answers up in the graph.

    An answer without a name gets the graph's name. An answer whose id is no entity of the graph is matched by that
    text, or by its value if it is a literal: an N-Triples term, ``value^^type``, or the bare value.
    """
    ids = dict.fromkeys(a.id for question in questions for a in question.answers if a.id)
    known: dict[str, str | None] = {}
    for some in split_into_request_batches(ids, A_REQUEST, len):
        known |= gateway.run(
            Request(load_query("read_names"), {"ids": some}, lambda rows: {row[0]: row[1] for row in rows})
        )
    found = (replace(each, answers=tuple(_answer(answer, known) for answer in each.answers)) for each in questions)
    return ResolvedGoldQuestions(tuple(found), len(ids), len(ids) - len(known))


def add_graph_names_to_gold_answers(question: GoldQuestion, ids: Sequence[str], gateway: Gateway) -> GoldQuestion:
    """Give gold answers that are only names the graph's own name of an entity among `ids` that has one as an alias."""
    called: dict[str, list[str]] = {}
    for named in gateway.run(read_search_names(ids)).values():
        for alias in named.search_names:
            called.setdefault(casefold_nfkc(alias), []).append(named.entity.label)

    def rename(answer: GoldAnswer) -> GoldAnswer:
        others = [name for known in answer.names for name in called.get(casefold_nfkc(known), ())]
        return answer if answer.id else replace(answer, names=tuple(dict.fromkeys((*answer.names, *others))))

    return replace(question, answers=tuple(map(rename, question.answers)))


def look_up_topic_ids(questions: Sequence[GoldQuestion], gateway: Gateway) -> tuple[GoldQuestion, ...]:
    """Give questions whose topics are only names the ids of the entities with exactly these names."""
    names = dict.fromkeys(n for q in questions if not q.topic_ids for n in q.topic_names)
    named: dict[str, tuple[str, ...]] = {}
    for some in split_into_request_batches(names, A_REQUEST, len):
        named |= gateway.run(find_entities_by_name(some))

    def ids(question: GoldQuestion) -> tuple[str, ...]:
        found = (id_ for name in question.topic_names for id_ in named.get(name, ()))
        return question.topic_ids or tuple(dict.fromkeys(found))

    return tuple(replace(question, topic_ids=ids(question)) for question in questions)


def _answer(answer: GoldAnswer, known: Mapping[str, str | None]) -> GoldAnswer:
    if answer.id is None:
        return answer
    if answer.id not in known:
        return GoldAnswer(None, tuple(dict.fromkeys((extract_literal_value(answer.id), *answer.names))))
    name = known[answer.id]
    return replace(answer, names=(name,)) if not answer.names and name is not None else answer


NO_TOPIC = "no topic in the graph"
NO_ANSWER = "no answer in the graph"
NO_OTHER = "no answer but its topics"
NO_PATH = "no path to an answer"
TOO_LONG = "a query that ran past its timeout"
REASONS = (NO_TOPIC, NO_ANSWER, NO_OTHER, NO_PATH, TOO_LONG)


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
    questions: Sequence[GoldQuestion], gateway: Gateway, *, return_to_topic: bool = False
) -> tuple[list[GroundedQuestion | SkippedQuestion], dict[str, EntitySignature]]:
    """Look the questions up; return them with the signatures of their topics.

    return_to_topic: a topic may be an answer.
    """
    names = dict.fromkeys(
        name
        for question in questions
        for name in (
            *(() if question.topic_ids else question.topic_names),
            *(name for answer in question.answers for name in _names(answer)),
        )
    )
    by_name = gateway.run_all(
        [find_entities_by_name(some) for some in split_into_request_batches(names, A_REQUEST, len)]
    )
    named = {name: ids for some in by_name for name, ids in some.items()}
    ids = dict.fromkeys(
        id_
        for question in questions
        for id_ in (*_topic_ids(question, named), *(answer.id for answer in question.answers if answer.id))
    )
    by_id = gateway.run_all([read_signatures(some) for some in split_into_request_batches(ids, A_REQUEST, len)])
    signatures = {id_: signature for some in by_id for id_, signature in some.items()}
    found = [_place_question(question, named, signatures, return_to_topic=return_to_topic) for question in questions]
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
    if not answers:
        return SkippedQuestion(question.id, NO_ANSWER)
    if not return_to_topic and answers <= {topic.id for topic in topics}:
        return SkippedQuestion(question.id, NO_OTHER)
    return GroundedQuestion(question, topics, answers)


def _topic_ids(question: GoldQuestion, named: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    found = question.topic_ids or [id_ for name in question.topic_names for id_ in named.get(name, ())]
    return tuple(dict.fromkeys(found))


def _names(answer: GoldAnswer) -> tuple[str, ...]:
    return () if answer.id else answer.names


def _mention(question: GoldQuestion, id_: str, named: Mapping[str, Sequence[str]], signature: EntitySignature) -> str:
    label = signature.entity.label
    if question.topic_ids:
        both = zip(question.topic_ids, question.topic_names, strict=False)
        names = [name for other, name in both if other == id_ and len(question.topic_ids) == len(question.topic_names)]
    else:
        names = [name for name in question.topic_names if id_ in named.get(name, ())]
    text = casefold_nfkc(question.text)
    return next((name for name in names if casefold_nfkc(name) in text), label)


def nothing_found_message(questions: QuestionSet, found: Sequence[object]) -> str:
    """Return the message for a question set of which nothing can be used; found: with the skipped questions."""
    reasons = Counter(each.reason for each in found if isinstance(each, SkippedQuestion))
    why = ", ".join(f"{number:,} with {reason}" for reason, number in reasons.items())
    return f"{questions.name}: expected questions about this graph, found {why or 'none'}: load their graph"


_TERM = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@[A-Za-z][A-Za-z0-9-]*|\^\^<[^<>\s]*>)?', re.DOTALL)
_TYPED = re.compile(r"(.*)\^\^<?[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+>?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def extract_literal_value(text: str) -> str:
    """Return the value of a literal written as an N-Triples term or as ``value^^type``; return other text unchanged."""
    if term := _TERM.fullmatch(text):
        return _ESCAPE.sub(_unescape, term[1])
    typed = _TYPED.fullmatch(text)
    return typed[1] if typed else text


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code is None:
        return _CHARACTERS.get(found[3], found[3])
    point = int(code, 16)
    return chr(point) if point <= 0x10FFFF else found[0]
