"""Hold questions with right answers, and look these up in the graph."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .literals import lexical_value
from .neo4j.gateway import Gateway
from .neo4j.mining import find_entities_by_name
from .neo4j.requests import Request, in_requests
from .neo4j.templates import template
from .values import Question


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """One right answer: an entity's id, the names it goes by, or both; never neither.

    A right answer that is no entity (a number, a date) has its text as the only name.
    """

    id: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.id and not self.names:
            raise ValueError("a gold answer has an id or a name")


@dataclass(frozen=True, slots=True)
class GoldPath:
    """A reasoning path that leads to an answer, as annotators wrote it: in walking order, directions unsaid.

    `entities` is one longer than `relations`, or empty where only the relations are known.
    """

    relations: tuple[str, ...]
    entities: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.relations or (self.entities and len(self.entities) != len(self.relations) + 1):
            raise ValueError("a gold path has relations, and no entities or one more of them than relations")


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with its topic entities (ids, or names where the set gives no ids) and its right answers.

    `answers` is empty where the right thing to do is to abstain. `num_hops` is None where the set does not say it.
    `triples` are those that the set holds for relevant: (head, relation, tail), by id or name as the set has them.
    `without` names relations that it is asked without (`evaluation.unanswerable`). `options` are what is chosen from,
    where it is a choice; one of them is the answer's name.
    """

    id: str
    text: str
    answers: tuple[GoldAnswer, ...]
    topic_ids: tuple[str, ...] = ()
    topic_names: tuple[str, ...] = ()
    num_hops: int | None = None
    paths: tuple[GoldPath, ...] = ()
    triples: tuple[tuple[str, str, str], ...] = ()
    without: frozenset[str] = frozenset()
    options: tuple[str, ...] = ()

    def asked(self, topic_entities: tuple[str, ...]) -> Question:
        """Return the question as the engine is asked it, starting from these entities (none: they are linked)."""
        return Question(self.text, topic_entities, self.id, self.without, self.options)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of one file, in its order; ids are distinct. `sha256` is of the file's bytes as they are."""

    name: str
    format: str
    sha256: str
    questions: tuple[GoldQuestion, ...]

    def sampled(self, limit: int | None, seed: int) -> tuple[GoldQuestion, ...]:
        """Return a sample in the order of the set; all of them without a limit or where it is larger."""
        if limit is None or limit >= len(self.questions):
            return self.questions
        chosen = random.Random(seed).sample(range(len(self.questions)), limit)  # noqa: S311 - a sample, no secret
        return tuple(self.questions[index] for index in sorted(chosen))


A_REQUEST = 10_000
MAX_SHOWN_CHARS = 80
"""Of a name in a warning."""


@dataclass(frozen=True, slots=True)
class KnownAnswers:
    """Questions whose right answers go by what the graph has.

    num_answers: distinct right answers that have an id. num_unknown: those of them that are no entity of the graph;
    these go by name, by the value where they are written as literals.
    """

    questions: tuple[GoldQuestion, ...]
    num_answers: int
    num_unknown: int

    @property
    def warning(self) -> str:
        """What to tell who asked, where hardly an answer is an entity of the graph; else an empty text."""
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


def with_known_answers(questions: Sequence[GoldQuestion], gateway: Gateway) -> KnownAnswers:
    """Look right answers up.

    One without a name gets the graph's; one whose id is no entity of the graph goes by that text, or by its value where
    it is a literal: an N-Triples term, ``value^^type``, or the bare value.
    """
    ids = dict.fromkeys(a.id for question in questions for a in question.answers if a.id)
    known: dict[str, str | None] = {}
    for some in in_requests(ids, A_REQUEST, len):
        names = gateway.fetch(_names_by_id(some))
        known |= names
    found = (replace(each, answers=tuple(_answer(answer, known) for answer in each.answers)) for each in questions)
    return KnownAnswers(tuple(found), len(ids), len(ids) - len(known))


def with_topic_ids(questions: Sequence[GoldQuestion], gateway: Gateway) -> tuple[GoldQuestion, ...]:
    """Look up the topics that are given by name alone: they become the ids that go by exactly this name."""
    names = dict.fromkeys(n for q in questions if not q.topic_ids for n in q.topic_names)
    named: dict[str, tuple[str, ...]] = {}
    for some in in_requests(names, A_REQUEST, len):
        ids_by_name = gateway.fetch(find_entities_by_name(some))
        named |= ids_by_name

    def ids(question: GoldQuestion) -> tuple[str, ...]:
        found = (id_ for name in question.topic_names for id_ in named.get(name, ()))
        return question.topic_ids or tuple(dict.fromkeys(found))

    return tuple(replace(question, topic_ids=ids(question)) for question in questions)


def _answer(answer: GoldAnswer, known: Mapping[str, str | None]) -> GoldAnswer:
    if answer.id is None:
        return answer
    if answer.id not in known:
        return GoldAnswer(None, tuple(dict.fromkeys((lexical_value(answer.id), *answer.names))))
    name = known[answer.id]
    return replace(answer, names=(name,)) if not answer.names and name is not None else answer


def _names_by_id(ids: Sequence[str]) -> Request[dict[str, str | None]]:
    return Request(template("read_names"), {"ids": list(ids)}, lambda rows: {id_: name for id_, name, _, _ in rows})
