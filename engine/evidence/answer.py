"""An answer with the evidence that it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import LodestarError
from ..values import AnswerEntity, TokenUsage
from .evidence import Evidence, Item, Reason

NO_ANSWER = "no answer found"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question with what it rests on; no `entities` means that no answer was found.

    `confidence` is the probability that the answer is right, which an answerer holds against its bounds, None where it
    does not know one; `unsure` says that it is between them: below it there would be no answer.
    `failure` is why there is none where the answerer failed: the evidence is not lost with it.
    """

    evidence: Evidence[Item]
    entities: tuple[AnswerEntity, ...]
    text: str
    answerer: str
    usage: TokenUsage | None = field(default=None, compare=False)
    """None where no language model was asked, or where its endpoint does not say."""
    failure: LodestarError | None = field(default=None, compare=False)
    confidence: float | None = None
    unsure: bool = False
    why: tuple[str, ...] = field(default=(), compare=False)
    """What decided, in words, the most important first; empty where an answerer does not say."""

    @property
    def reason(self) -> Reason | None:
        """Why there is no answer, where there is none and somebody knows; in words in `text`."""
        return None if self.found or self.failure else self.evidence.reason

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.entities)

    def _repr_html_(self) -> str:
        """Return the answer with its evidence as a notebook shows it."""
        from .drawing import evidence_html

        return evidence_html(self.evidence, self)


def failed(evidence: Evidence[Item], error: LodestarError) -> Answer:
    """Return the answer to a question whose answerer failed: its text says why."""
    return Answer(evidence, (), f"failed: {error}", "failed", failure=error)
