"""Networks and pure scoring formulas; nothing here knows a database.

Here are number types that carry their range, which pydantic checks, and text from outside as lines of messages.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most that a number may be, as in ``Annotated[int, Range(1, 4)]``; never NaN or infinite."""

    least: float = -math.inf
    most: float = math.inf

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
Dimension = Annotated[int, Range(1, 65_536)]
"""Of the vectors of an encoder."""


SHOWN_CHARS = 80


def one_line(text: object, max_length: int = 200) -> str:
    """Return a text or an error's message on one line, without control characters and surrogates, cut to a length."""
    kept = "".join(" " if unicodedata.category(char) in {"Cc", "Cs"} else char for char in str(text))
    line = " ".join(kept.split())
    return line if len(line) <= max_length else f"{line[: max_length - 1]}…"


def quote_line(line: str | bytes) -> str:
    """Return a line for a message: quoted, escaped if unprintable, at most `SHOWN_CHARS` long."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    text = text.rstrip("\r\n")
    if len(text) <= SHOWN_CHARS and _width(text) <= SHOWN_CHARS:
        return repr(text)
    start = text[: SHOWN_CHARS - 1]
    while _width(start) >= SHOWN_CHARS:
        start = start[:-1]
    return repr(f"{start}…")


def _width(text: str) -> int:
    return len(repr(text)) - 2
