"""Literals as what a question is about: "who was hired on 2016-07-16"; beside the entities of another linker."""

from __future__ import annotations

from collections.abc import Sequence

from ..literals import literal_term
from ..neo4j.graph import Signature, find_values
from ..stages import DecidingLinker
from ..steps import Steps, one
from ..values import Entity, EntityCandidate, Question, Scored
from .value_forms import ValueForm, values_in

SURE, UNSURE = 0.9, 0.5
"""How likely a question is about a literal of the graph that goes by a date or a text in quotes of it, by a number. Our
own choice."""
OF_A_VALUE = 5
"""Literals that are read for a value: of different types and languages."""


class LinkingValues:
    """A linker that finds literals too; a `DecidingLinker`. One round trip more where questions have values in them."""

    def __init__(self, linker: DecidingLinker) -> None:
        self._linker = linker

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Scored[EntityCandidate], ...]]]:
        """Return the candidates of the linker inside, and the literals that go by values of each question."""
        found = yield from self._linker.link(questions)
        forms = [(at, form) for at, question in enumerate(questions) for form in values_in(question.text)]
        if not forms:
            return found
        wanted = [(at, form, term) for at, form in forms for term in _terms(form)]
        literals = yield from one(find_values([term for *_, term in wanted], OF_A_VALUE))
        added: list[dict[str, tuple[ValueForm, Entity]]] = [{} for _ in questions]
        for (at, form, _), some in zip(wanted, literals, strict=True):
            for literal in some:
                added[at].setdefault(literal.id, (form, literal))
        return [
            (*some, *_candidates(question.text, list(literals.values())))
            for question, some, literals in zip(questions, found, added, strict=True)
        ]

    def decide(
        self, questions: Sequence[Question], found: Sequence[Sequence[tuple[Scored[EntityCandidate], Signature]]]
    ) -> list[list[Scored[EntityCandidate]]]:
        """Return the candidates as the linker inside weighs them, and the literals with them, best first."""
        entities = [[pair for pair in some if not pair[1].entity.is_literal] for some in found]
        literals = [[candidate for candidate, s in some if s.entity.is_literal and s.relations] for some in found]
        decided = self._linker.decide(questions, entities)
        return [
            sorted((*one_, *two), key=lambda each: -each.score) for one_, two in zip(decided, literals, strict=True)
        ]


def _terms(form: ValueForm) -> list[str]:
    """Return how the ids of literals begin that are a value: whole, and of a date with a time behind it."""
    whole = [literal_term(text) for text in form.written]
    return [*whole, f'"{form.written[0]}T'] if form.sure and form.written[0][:4].isdigit() else whole


def _candidates(text: str, found: Sequence[tuple[ValueForm, Entity]]) -> list[Scored[EntityCandidate]]:
    """Return the literals as candidates; of two values that overlap those of the longer one."""
    kept = [
        (form, literal)
        for form, literal in found
        if not any(form.overlaps(other) and _length(other) > _length(form) for other, _ in found)
    ]
    return [
        Scored(
            EntityCandidate(
                literal,
                text[form.start : form.end],
                literal.label,
                0,
                SURE if form.sure else UNSURE,
                (form.start, form.end),
                kind="value",
            ),
            SURE if form.sure else UNSURE,
        )
        for form, literal in kept
    ]


def _length(form: ValueForm) -> int:
    return form.end - form.start
