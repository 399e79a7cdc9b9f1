"""What a question of a form asks for: plain questions, and what is to be done with what they lead to."""

from __future__ import annotations

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
