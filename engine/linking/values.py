"""Link dates, numbers and quoted texts in questions to literals of the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..neo4j.graph import find_literals_by_prefix
from ..stages import RerankingLinker
from ..steps import Steps, send_one
from ..values import Entity, Question, Topic, literal_term

MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?P<month>" + "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS) + r")\.?"
_DAY, _YEAR = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_DATES = (
    re.compile(rf"\b{_DAY}(?: of)? {_MONTH},? {_YEAR}\b", re.I),
    re.compile(rf"\b{_MONTH} {_DAY},? {_YEAR}\b", re.I),
    re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{2})(?:-(?P<day>\d{2}))?\b"),
)
_QUOTED = re.compile(r"[\"“”](?P<value>[^\"“”]{1,100})[\"“”]")
_NUMBER = re.compile(r"(?<![\w.,-])(?P<number>\d[\d,]*(?:\.\d+)?)(?P<unit> ?[^\W\d]+[²³]?)?(?![\w-])")
MAX_VALUES = 8
"""The most values that are read from a question, the first ones."""


@dataclass(frozen=True, slots=True)
class ValueMention:
    """A value in a question: its place, and the spellings that a literal may have. sure: it can only be a value."""

    start: int
    end: int
    written: tuple[str, ...]
    sure: bool

    def overlaps(self, other: ValueMention) -> bool:
        """Return whether both have a character in common."""
        return self.start < other.end and other.start < self.end


def parse_values(text: str) -> list[ValueMention]:
    """Return the values in a text: dates, quoted texts, and other numbers of at least two digits. A number comes with
    and without the next word, which may be a unit; of values with the same start the longer comes first."""
    found = list(_parse_all(text))
    sure = [value for value in found if value.sure]
    kept = sure + [value for value in found if not value.sure and not any(value.overlaps(other) for other in sure)]
    return sorted(kept, key=lambda each: (each.start, -each.end))[:MAX_VALUES]


def _parse_all(text: str) -> Iterator[ValueMention]:
    for pattern in _DATES:
        for date in pattern.finditer(text):
            month, day = date["month"], date["day"]
            place = int(month) if month.isdigit() else [m[:3] for m in MONTHS].index(month[:3].lower()) + 1
            iso = f"{date['year']}-{place:02}" + (f"-{int(day):02}" if day else "")
            yield ValueMention(date.start(), date.end(), tuple(dict.fromkeys((iso, date[0]))), sure=True)
    for quoted in _QUOTED.finditer(text):
        yield ValueMention(quoted.start("value"), quoted.end("value"), (quoted["value"],), sure=True)
    for number in _NUMBER.finditer(text):
        digits, unit = number["number"].rstrip(","), (number["unit"] or "").strip()
        plain = digits.replace(",", "")
        if len(plain) < 2:
            continue
        if unit:
            written = dict.fromkeys((f"{digits} {unit}", f"{digits}{unit}", f"{plain} {unit}"))
            yield ValueMention(number.start(), number.end(), tuple(written), sure=False)
        yield ValueMention(
            number.start(), number.start() + len(digits), tuple(dict.fromkeys((plain, digits))), sure=False
        )


SURE, UNSURE = 0.9, 0.5
"""The probability that a question is about a literal that matches a date or quoted text, and one that matches a number.
Our own choice."""
OF_A_VALUE = 5
"""The most literals that are read for a value; they differ in type or language."""


class ValueLinker:
    """A `RerankingLinker` that also finds literals. It needs one more round trip if questions contain values."""

    def __init__(self, linker: RerankingLinker) -> None:
        self._linker = linker

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Topic, ...]]]:
        """Return the candidates of the inner linker, and the literals that match values in each question."""
        found = yield from self._linker.link(questions)
        forms = [(at, form) for at, question in enumerate(questions) for form in parse_values(question.text)]
        if not forms:
            return found
        wanted = [(at, form, term) for at, form in forms for term in _write_terms(form)]
        literals = yield from send_one(find_literals_by_prefix([term for *_, term in wanted], OF_A_VALUE))
        added: list[dict[str, tuple[ValueMention, Entity]]] = [{} for _ in questions]
        for (at, form, _), some in zip(wanted, literals, strict=True):
            for literal in some:
                added[at].setdefault(literal.id, (form, literal))
        return [
            (*some, *_make_candidates(question.text, list(literals.values())))
            for question, some, literals in zip(questions, found, added, strict=True)
        ]

    def rerank(self, questions: Sequence[Question], found: Sequence[Sequence[Topic]]) -> list[list[Topic]]:
        """Return the candidates as the inner linker reranks them, together with the literals, best first."""
        entities = [[each for each in some if not each.entity.is_literal] for some in found]
        literals = [[each for each in some if each.entity.is_literal and each.relations] for some in found]
        decided = self._linker.rerank(questions, entities)
        return [
            sorted((*one_, *two), key=lambda each: -each.score) for one_, two in zip(decided, literals, strict=True)
        ]


def _write_terms(form: ValueMention) -> list[str]:
    """Return how the ids of matching literals begin: with the whole value; for a date also with a time after it."""
    whole = [literal_term(text) for text in form.written]
    return [*whole, f'"{form.written[0]}T'] if form.sure and form.written[0][:4].isdigit() else whole


def _make_candidates(text: str, found: Sequence[tuple[ValueMention, Entity]]) -> list[Topic]:
    """Return the literals as candidates; of two values that overlap, only those of the longer one."""
    kept = [
        (form, literal)
        for form, literal in found
        if not any(form.overlaps(other) and _length(other) > _length(form) for other, _ in found)
    ]
    return [
        Topic(
            literal,
            score=SURE if form.sure else UNSURE,
            mention=text[form.start : form.end],
            matched_name=literal.label,
            probability=SURE if form.sure else UNSURE,
            span=(form.start, form.end),
            kind="value",
        )
        for form, literal in kept
    ]


def _length(form: ValueMention) -> int:
    return form.end - form.start
