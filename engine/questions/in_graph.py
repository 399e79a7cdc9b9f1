"""Questions as the graph knows them: topics and right answers by id wherever it has them, else by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..database.gateway import Gateway
from ..database.mining import find_entities_by_name
from ..database.requests import Request, in_requests
from ..database.templates import template
from ..literals import lexical_value
from .gold import GoldAnswer, GoldQuestion

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
