"""What came of a question of a form: how many, yes or no, the most, more than, both, or, not, how much."""

from __future__ import annotations

from dataclasses import dataclass

from ..values import Entity


@dataclass(frozen=True, slots=True)
class Found:
    """An entity or a value that answers; key: the number, or the date as year · 10000 + month · 100 + day, that it was
    ordered or filtered by."""

    entity: Entity
    key: float | None = None


@dataclass(frozen=True, slots=True)
class Formed:
    """The result of a form: it stands beside the evidence that it rests on.

    forms: what was recognised, outermost first. rule: in words. parts: the plain questions that were asked, each with
    the relation path it rests on, "" where nothing was found. probability: that all of these paths are right, None
    where nobody knows. counted: the answer is `total`. reason: why there is no answer, where there is none.
    """

    forms: tuple[str, ...]
    rule: str
    parts: tuple[tuple[str, str], ...]
    found: tuple[Found, ...] = ()
    total: int = 0
    counted: bool = False
    says: str = ""
    """The answer in words where it is neither a number nor names: "yes", "not in the graph"."""
    probability: float | None = None
    reason: str = ""

    @property
    def text(self) -> str:
        """How it was found, on one line."""
        asked = "; ".join(f"{text} {path or '(nothing)'}" for text, path in self.parts)
        return f"{', '.join(self.forms)}: {self.rule}. Rests on: {asked}"
