"""Say why a question cannot be asked: alone it raises its fault, in a batch it loses no other question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import EntityNotFoundError, LodestarError, UsageError
from .evidence.evidence import Evidence, Item
from .values import Question


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a question cannot be asked: an `EvidenceExtra` of its evidence."""

    error: LodestarError

    def as_json(self) -> dict[str, Any]:
        """Return nothing: the evidence's note says it."""
        return {}


def validate_question(question: str | Question) -> Question:
    """Return the question; raise `UsageError` for what is none."""
    if not isinstance(question, str | Question):
        raise UsageError(f"expected a question as text or a Question, found {question!r}")
    return question if isinstance(question, Question) else Question(question)


def count_chars(question: Question) -> int:
    """Return the characters of a question and of its topics."""
    return len(question.text) + sum(map(len, question.topic_entities))


def validate_question_or_fault(question: str | Question) -> Question | Evidence[Item]:
    """Return the question, or evidence that says why it cannot be asked: no other of its batch is lost."""
    try:
        return validate_question(question)
    except UsageError as error:
        return Evidence(Question(_shorten(repr(question))), (), "chain", note=str(error), extras=(Fault(error),))


def find_fault(evidence: Evidence[Item]) -> LodestarError | None:
    """Return why a question could not be asked: it is none, or no entity of it is known; None where it was asked.

    It is what `Engine.ask` and `Engine.retrieve` raise for a question alone; in a batch no other question is lost.
    """
    if (fault := evidence.extra_of(Fault)) is not None:
        return fault.error
    if not evidence.topics:
        hint = "try `lodestar entities` with parts of it, or give --topic an id or a name"
        return EntityNotFoundError(f"{evidence.note}: {_shorten(evidence.question.text)!r}; {hint}")
    return None


def raise_fault(evidence: Evidence[Item]) -> Evidence[Item]:
    """Return the evidence; raise its fault where it has one."""
    if (fault := find_fault(evidence)) is not None:
        raise fault
    return evidence


def _shorten(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
