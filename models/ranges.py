"""Number types that carry their range, and dataclasses that check it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most that a number may be, as in ``Annotated[int, Range(1, 4)]``; never NaN or infinite."""

    least: float = -math.inf
    most: float = math.inf

    def __contains__(self, value: float) -> bool:
        return math.isfinite(value) and self.least <= value <= self.most

    def __str__(self) -> str:
        if math.isfinite(self.least):
            return f"{self.least:g} to {self.most:g}" if math.isfinite(self.most) else f"at least {self.least:g}"
        return f"at most {self.most:g}" if math.isfinite(self.most) else "a finite number"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        limits = {"ge": self.least, "le": self.most}
        finite = {} if source is int else {"allow_inf_nan": False}
        return handler(source) | finite | {key: source(n) for key, n in limits.items() if math.isfinite(n)}


Count = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
Weight = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
MAX_HOP = 4
Hops = Annotated[int, Range(1, MAX_HOP)]
"""The longest path that a search walks and a training learns."""
Width = Annotated[int, Range(1, 8_192)]
"""Units of a layer."""
NumPhrases = Annotated[int, Range(0, 40)]
"""How many of what people say for a relation a network reads after its own words."""
Dimension = Annotated[int, Range(1, 65_536)]
"""Of the vectors of an encoder."""


class Ranged:
    """Options as a dataclass, which raises `ValueError` for its first number outside the range of its type."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_ranges(self)

    def as_json(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        values: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        return values


def check_ranges(options: Any) -> None:
    """Raise `ValueError` for the first field of a dataclass that is outside the range of its type; None has none."""
    kind: Any = type(options)
    for name, limits in ranges_of(kind).items():
        value = getattr(options, name)
        if value is not None and value not in limits:
            raise ValueError(f"expected {limits} for {name}, found {value:g}")


@cache
def ranges_of(kind: Any) -> dict[str, Range]:
    """Return the range of each number of a dataclass, by field."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: limits for name, hint in hints.items() for limits in _ranges_in(hint)}


def _ranges_in(hint: Any) -> Iterator[Range]:
    if hint in (int, float):
        yield Range()
    elif get_origin(hint) is Annotated:
        yield from [each for each in hint.__metadata__ if isinstance(each, Range)] or _ranges_in(get_args(hint)[0])
    elif get_origin(hint) in (Union, UnionType):
        for each in get_args(hint):
            yield from _ranges_in(each)
