"""What a question of a form asks for: plain questions, and what is to be done with what they lead to."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

Form = Literal["how many", "yes or no", "most", "least", "filter", "and", "or", "not", "how much"]

DATE_PLACES = 10_000
"""A date as a number: year · DATE_PLACES + month · 100 + day."""


@dataclass(frozen=True, slots=True)
class Part:
    """A plain question; what it leads to is kept, or where `negated` left out."""

    text: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """What a value has to be, ends included or not; None: unbounded. A date is a number, see `DATE_PLACES`."""

    least: float | None = None
    most: float | None = None
    with_least: bool = True
    with_most: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question is answered.

    forms: what was recognised, outermost first. rule: in words, for whoever reads the answer. parts: what each leads to
    is intersected, or with `any_of` united. words: what the ends are ordered or filtered by. order: of the best ones.
    within, dates: what numbers, and dates, have to be. excluded: a name whose entity is left out. counted: the answer is
    how many there are. alike: the parts differ by a name alone.
    """

    forms: tuple[Form, ...]
    rule: str
    parts: tuple[Part, ...]
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
        """Whether numbers or dates answer it; what is counted, ordered, filtered or combined are things."""
        return self.forms == ("how much",)

    def also(self, form: Form, rule: str) -> Plan:
        """Return the plan inside another form."""
        return replace(self, forms=(form, *self.forms), rule=f"{rule}; {self.rule}" if self.rule else rule)


_WORDS = {word: number for number, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty".split()
)}  # fmt: skip
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "k": 1e3, "m": 1e6}
NUMBER = r"(?:\d[\d,]*(?:\.\d+)?|" + "|".join(_WORDS) + r")(?: ?(?:" + "|".join(_SCALES) + r"))?\b"
"""A number in a question, as a regular expression."""
DATE = r"\d{4}-\d{2}-\d{2}|\d{4}-\d{2}|\d{4}"

_READ = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:T.*)?")


def number_of(text: str) -> float:
    """Return the number that a text that fits `NUMBER` is."""
    found = re.fullmatch(r"([\d,.]+|[a-z]+?) ?(" + "|".join(_SCALES) + ")?", text.strip().lower())
    assert found, text
    number = float(_WORDS[found[1]]) if found[1] in _WORDS else float(found[1].replace(",", ""))
    return number * _SCALES[found[2]] if found[2] else number


def date_range(text: str) -> tuple[float, float]:
    """Return the first and the last day, as numbers, of a text that fits `DATE`."""
    year, month, day = (int(part) if part else None for part in _DATE.fullmatch(text).groups())  # type: ignore[union-attr]
    assert year is not None
    first = year * DATE_PLACES + (month or 1) * 100 + (day or 1)
    return float(first), float(year * DATE_PLACES + (month or 12) * 100 + (day or 31))


def is_value(text: str) -> bool:
    """Return whether a value of the graph reads as a number, with a unit or without, or as a date."""
    return bool(_DATE.fullmatch(text.strip()) or _READ.fullmatch(text.strip().split(" ")[0] if text.strip() else ""))
