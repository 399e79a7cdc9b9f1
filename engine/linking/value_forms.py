"""Values in questions as literals may write them: 2016-07-16, 16 July 2016, 41,000 EUR, "carpe diem"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
"""Of a question, those that stand first."""


@dataclass(frozen=True, slots=True)
class ValueForm:
    """A value in a question: where it stands, and how a literal may write it. sure: it can be nothing but a value."""

    start: int
    end: int
    written: tuple[str, ...]
    sure: bool

    def overlaps(self, other: ValueForm) -> bool:
        """Return whether both have a character in common."""
        return self.start < other.end and other.start < self.end


def values_in(text: str) -> list[ValueForm]:
    """Return the values in a text: dates and texts in quotes, and numbers of two digits or more beside them, with the
    word behind them, which may be a unit, and without; longer ones first where they begin together."""
    found = list(_all(text))
    sure = [value for value in found if value.sure]
    kept = sure + [value for value in found if not value.sure and not any(value.overlaps(other) for other in sure)]
    return sorted(kept, key=lambda each: (each.start, -each.end))[:MAX_VALUES]


def _all(text: str) -> Iterator[ValueForm]:
    for pattern in _DATES:
        for date in pattern.finditer(text):
            month, day = date["month"], date["day"]
            place = int(month) if month.isdigit() else [m[:3] for m in MONTHS].index(month[:3].lower()) + 1
            iso = f"{date['year']}-{place:02}" + (f"-{int(day):02}" if day else "")
            yield ValueForm(date.start(), date.end(), tuple(dict.fromkeys((iso, date[0]))), sure=True)
    for quoted in _QUOTED.finditer(text):
        yield ValueForm(quoted.start("value"), quoted.end("value"), (quoted["value"],), sure=True)
    for number in _NUMBER.finditer(text):
        digits, unit = number["number"].rstrip(","), (number["unit"] or "").strip()
        plain = digits.replace(",", "")
        if len(plain) < 2:
            continue
        if unit:
            yield ValueForm(
                number.start(), number.end(), (f"{digits} {unit}", f"{digits}{unit}", f"{plain} {unit}"), sure=False
            )
        yield ValueForm(number.start(), number.start() + len(digits), tuple(dict.fromkeys((plain, digits))), sure=False)
