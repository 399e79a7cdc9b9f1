"""Describe how a complex question is answered: its plain questions, and how their answers are combined."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

Form = Literal["how many", "yes or no", "most", "least", "filter", "and", "or", "not", "how much"]

DATE_PLACES = 10_000
"""A date as a number: year · DATE_PLACES + month · 100 + day."""


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A plain question. Its answers are kept; if `negated`, they are excluded."""

    text: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """The range a value must lie in; each end is inclusive or exclusive. None: unbounded. Dates are numbers, see
    `DATE_PLACES`.
    """

    least: float | None = None
    most: float | None = None
    with_least: bool = True
    with_most: bool = True


@dataclass(frozen=True, slots=True)
class FormPlan:
    """How a question is answered.

    forms: the recognised forms, outermost first. rule: explains the plan in words to the reader of the answer. parts:
    their answers are intersected, or united if `any_of`. words: the property that the answers are ordered or filtered
    by. order: which end is best. within, dates: the ranges that numbers and dates must lie in. excluded: the name of an
    entity to exclude. counted: the answer is the number of results. alike: the parts differ in one name only.
    """

    forms: tuple[Form, ...]
    rule: str
    parts: tuple[SubQuestion, ...]
    any_of: bool = False
    words: str = ""
    order: Literal["", "most", "least"] = ""
    within: Range | None = None
    dates: Range | None = None
    excluded: str = ""
    counted: bool = False
    alike: bool = False

    @property
    def wants_values(self) -> bool:
        """Whether the answer is a number or a date. Results that are counted, ordered, filtered or combined are
        entities.
        """
        return self.forms == ("how much",)

    def nest(self, form: Form, rule: str) -> FormPlan:
        """Return this plan nested in another form."""
        return replace(self, forms=(form, *self.forms), rule=f"{rule}; {self.rule}" if self.rule else rule)


_WORDS = {word: number for number, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty".split()
)}  # fmt: skip
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "k": 1e3, "m": 1e6}
NUMBER = r"(?:\d[\d,]*(?:\.\d+)?|" + "|".join(_WORDS) + r")(?: ?(?:" + "|".join(_SCALES) + r"))?\b"
"""A regular expression for a number in a question."""
DATE = r"\d{4}-\d{2}-\d{2}|\d{4}-\d{2}|\d{4}"

_READ = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:T.*)?")


def parse_number(text: str) -> float:
    """Return the number in a text that matches `NUMBER`."""
    found = re.fullmatch(r"([\d,.]+|[a-z]+?) ?(" + "|".join(_SCALES) + ")?", text.strip().lower())
    assert found, text
    number = float(_WORDS[found[1]]) if found[1] in _WORDS else float(found[1].replace(",", ""))
    return number * _SCALES[found[2]] if found[2] else number


def date_range(text: str) -> tuple[float, float]:
    """Return the first and last day, as numbers, of a text that matches `DATE`."""
    year, month, day = (int(part) if part else None for part in _DATE.fullmatch(text).groups())  # type: ignore[union-attr]
    assert year is not None
    first = year * DATE_PLACES + (month or 1) * 100 + (day or 1)
    return float(first), float(year * DATE_PLACES + (month or 12) * 100 + (day or 31))


def is_number_or_date(text: str) -> bool:
    """Return whether a graph value is a number, with or without a unit, or a date."""
    return bool(_DATE.fullmatch(text.strip()) or _READ.fullmatch(text.strip().split(" ")[0] if text.strip() else ""))
