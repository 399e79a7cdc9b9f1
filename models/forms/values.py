"""Numbers and dates as people write them in questions: "40 million", "1,000,000", "five", "2016-07-16", "2016"."""

from __future__ import annotations

import re

from .plan import DATE_PLACES

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
