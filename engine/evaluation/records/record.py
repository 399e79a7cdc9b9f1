"""What one question came to: written as it finishes, read back as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PathRecord:
    """A retrieved path: `relations` in walking order, ``^`` before one walked from tail to head.

    `ends` are the ids of its first ends; `num_right` of its `num_ends` ends are right answers.
    """

    score: float
    topic: str
    relations: tuple[str, ...]
    num_hops: int
    ends: tuple[str, ...]
    num_ends: int
    num_right: int
    text: str
    """One entity path, to a right answer where there is one, as it is shown to a reader."""


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer, in the order in which they were given."""

    name: str
    id: str | None
    confidence: float | None
    origin: str


@dataclass(frozen=True, slots=True)
class Miss:
    """Why the first answer is wrong: one of `diagnosis.KINDS`, with the hop of the loss or the rank of the find."""

    kind: str
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One question of a run. A `failure` is the error in one line; such a question counts as answered wrongly.

    `scores` are the figures of the question by metric, `rog_exceeded` whether the substring rule gave more than 1.
    """

    id: str
    question: str
    topics: tuple[str, ...]
    paths: tuple[PathRecord, ...] = ()
    answers: tuple[AnswerRecord, ...] = ()
    text: str = ""
    failure: str | None = None
    scores: Scores = field(default_factory=dict)
    counted: tuple[int, int, int] = (0, 0, 0)
    """Right, given and gold answers, for micro-averages."""
    rog_exceeded: bool = False
    miss: Miss | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    round_trips: Mapping[str, int] = field(default_factory=dict)
    confidence: float | None = None
    """Of the answer as a whole, as the answerer holds it against its bounds; None where it knows none."""
    without: tuple[str, ...] = ()
    """Relations that the question was asked without: it has no right answer then."""
    num_prompt_tokens: int | None = None
    num_completion_tokens: int | None = None

    @property
    def shown_confidence(self) -> float | None:
        """The confidence that stands beside the answer, in [0, 1]: its own, else the first entity's; None of none."""
        if not self.answers:
            return None
        told = self.answers[0].confidence if self.confidence is None else self.confidence
        return None if told is None else min(max(told, 0.0), 1.0)

    @property
    def abstained(self) -> bool:
        """Whether the system said that it has no answer; a failure is no abstention."""
        return not self.answers and self.failure is None

    def as_json(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return dataclasses.asdict(self)
