"""Define the stages of a pipeline: protocols with one method each, over batches of questions.

Stages return steps (see `steps`): they yield database requests and prompts and do not wait. `takes` and `gives` are
the kinds of evidence that a stage reads and returns; `evidence.bridges` converts where two stages differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from .evidence.evidence import Answer, Evidence, Kind
from .steps import Steps
from .values import LinkedQuestion, Question, Topic


class Linker(Protocol):
    """Finds the entities that questions mention."""

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Topic, ...]]]:
        """Return candidates per question, best first; one round trip for the batch."""
        ...


@runtime_checkable
class RerankingLinker(Linker, Protocol):
    """A linker that reranks its candidates after they are looked up in the graph."""

    def rerank(self, questions: Sequence[Question], found: Sequence[Sequence[Topic]], /) -> list[list[Topic]]:
        """Return the candidates of each question, best first, by their names and relations."""
        ...


class Retriever(Protocol):
    """Finds and ranks evidence for questions with linked topic entities."""

    @property
    def gives(self) -> Kind: ...

    def retrieve(self, questions: Sequence[LinkedQuestion], top_k: int, /) -> Steps[list[Evidence[Any]]]:
        """Return evidence for each question, best first.

        top_k: how many items are wanted in the end. More may be returned, for the stages that
        follow: the pipeline cuts.
        """
        ...


class Reorganiser(Protocol):
    """Turns evidence into other evidence: rescored, merged, expanded, pooled or filtered."""

    @property
    def takes(self) -> Kind | None:
        """The kind of the items that it reads; None for either."""
        ...

    @property
    def gives(self) -> Kind | None:
        """The kind of the items that it returns; None for the kind that it reads."""
        ...

    def reorganise(self, evidence: Sequence[Evidence[Any]], /) -> Steps[list[Evidence[Any]]]:
        """Return the evidence of each question, in order."""
        ...


class Answerer(Protocol):
    """Answers questions from evidence; answers name the items that support them."""

    def answer(self, evidence: Sequence[Evidence[Any]], /) -> Steps[list[Answer]]:
        """Return an answer to each question, in order; one without entities where there is none.

        If it fails for a question, that answer has a `failure`; the others are kept.
        """
        ...
