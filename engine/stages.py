"""The stages of a pipeline: Protocols with one method each, over whole batches of questions.

Stages return steps (see `steps`): they yield database requests and prompts, and wait for neither. What a stage takes
and gives is said in `takes` and `gives`; where two differ a bridge is put between (`evidence.bridges`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from .evidence.evidence import Answer, Evidence, Kind
from .steps import Steps
from .values import LinkedQuestion, Question, Topic


class Linker(Protocol):
    """Entity linking: from questions to the entities they mention."""

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Topic, ...]]]:
        """Return candidates per question, best first; one round trip for the batch."""
        ...


@runtime_checkable
class DecidingLinker(Linker, Protocol):
    """A linker that has a second say, once its candidates are looked up in the graph."""

    def decide(self, questions: Sequence[Question], found: Sequence[Sequence[Topic]], /) -> list[list[Topic]]:
        """Return the candidates of each question, best first, weighed by the relations at them too."""
        ...


class Retriever(Protocol):
    """From questions with linked topic entities to ranked evidence of the kind it gives."""

    @property
    def gives(self) -> Kind:
        """The kind of its items."""
        ...

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int, /) -> Steps[list[Evidence[Any]]]:
        """Return evidence for each question, best first.

        top_k: how many items are wanted in the end. More may be returned, for the stages that
        follow: the pipeline cuts.
        """
        ...


class Reorganiser(Protocol):
    """From evidence to evidence: rescored, merged, expanded, pooled, filtered."""

    @property
    def takes(self) -> Kind | None:
        """The kind of the items that it is given; None for either."""
        ...

    @property
    def gives(self) -> Kind | None:
        """The kind of the items that it returns; None for that which it was given."""
        ...

    def reorganise(self, evidence: Sequence[Evidence[Any]], /) -> Steps[list[Evidence[Any]]]:
        """Return the evidence of each question, in order."""
        ...


class Answerer(Protocol):
    """From evidence of either kind to answers that name what they rest on."""

    def answer(self, evidence: Sequence[Evidence[Any]], /) -> Steps[list[Answer]]:
        """Return an answer to each question, in order; one without entities where there is none.

        Where it fails for a question, that question's answer has a `failure`: no other is lost.
        """
        ...


@runtime_checkable
class ReadingAnswerer(Protocol):
    """An answerer that was trained to read so many items: where nobody says how many there are to be, it has them."""

    @property
    def reads(self) -> int:
        """The most items of a question that it reads."""
        ...


class Integrator(Protocol):
    """From two answers to each question, one by the graph's evidence and one by a model's own knowledge, to one."""

    def integrate(self, graph: Sequence[Answer], model: Sequence[Answer], /) -> Steps[list[Answer]]:
        """Return one answer for each pair, in order."""
        ...
