"""Number types that carry their range; pydantic checks it."""

from __future__ import annotations

import math
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
