"""A pipeline: the stages that lead from a batch of questions to evidence and to answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .evidence.answer import Answer
from .evidence.evidence import Cost, Evidence
from .linking.topics import looked_up
from .stages import Answerer, Linker, Retriever
from .steps import Steps, measured
from .values import LinkedQuestion, Question


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages joined: a linker, a retriever (which may be one that reorganisers follow), an answerer."""

    linker: Linker
    retriever: Retriever
    answerer: Answerer

    def retrieve(self, questions: Sequence[Question], top_k: int) -> Steps[list[Evidence[Any]]]:
        """Return evidence of at most `top_k` items for each question; one without a known entity has a note."""
        linked, costs = yield from self._linked(questions)
        found = yield from self.retriever.retrieve(linked, top_k)
        return [
            replace(
                each.cut_to(top_k),
                trace=(*costs, *each.trace),
                note=each.note if each.topics else _nothing_linked(each.question),
            )
            for each in found
        ]

    def answer(self, evidence: Sequence[Evidence[Any]]) -> Steps[list[Answer]]:
        """Return an answer to each question; what it took stands in its evidence."""
        started_s = time.perf_counter()
        answers, num_requests, usage = yield from measured(self.answerer.answer(evidence))
        cost = Cost("answer", time.perf_counter() - started_s, num_requests, usage)
        return [replace(answer, evidence=answer.evidence.charged([cost])) for answer in answers]

    def ask(self, questions: Sequence[Question], top_k: int) -> Steps[list[Answer]]:
        """Return an answer to each question."""
        found = yield from self.retrieve(questions, top_k)
        return (yield from self.answer(found))

    def _linked(self, questions: Sequence[Question]) -> Steps[tuple[list[LinkedQuestion], list[Cost]]]:
        """Link the questions that name no entities, then look all topics up."""
        started_s = time.perf_counter()
        free = [question for question in questions if not question.topic_entities]
        candidates, linking, _ = (yield from measured(self.linker.link(free))) if free else ([], 0, None)
        found = iter(candidates)
        linked_s = time.perf_counter()
        topics, looking, _ = yield from measured(
            looked_up(questions, [() if question.topic_entities else next(found) for question in questions])
        )
        return topics, [
            Cost("link", linked_s - started_s, linking),
            Cost("topics", time.perf_counter() - linked_s, looking),
        ]


def _nothing_linked(question: Question) -> str:
    if question.topic_entities:
        return f"no entity has the id {', '.join(map(repr, question.topic_entities))}"
    return "no known entity in the question"
