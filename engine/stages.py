"""The stages of a recipe: Protocols with one method each. Stages that read the graph return steps (see `requests`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .steps import Steps
from .values import Answer, EntityCandidate, Question, Retrieval, Scored


class Linker(Protocol):
    """Entity linking: from questions to the entities they mention."""

    def link(self, questions: Sequence[Question]) -> Steps[list[tuple[Scored[EntityCandidate], ...]]]:
        """Return candidates per question, best first; one round trip for the batch."""
        ...


class Retriever(Protocol):
    """From questions with linked topic entities to ranked, grounded paths."""

    def retrieve(
        self, questions: Sequence[Question], topics: Sequence[Sequence[Scored[EntityCandidate]]], top_k: int
    ) -> Steps[list[Retrieval]]:
        """Return one retrieval per question, with at most `top_k` paths, best first."""
        ...


class Answerer(Protocol):
    """From a retrieval to an answer that names its evidence."""

    def answer(self, retrieval: Retrieval) -> Answer:
        """Return the answer; one without entities where there is none."""
        ...

    async def aanswer(self, retrieval: Retrieval) -> Answer:
        """Return the same without blocking the event loop."""
        ...
