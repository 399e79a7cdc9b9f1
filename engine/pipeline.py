"""A pipeline: the stages that lead from a batch of questions to evidence and to answers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .evidence.answer import Answer
from .evidence.evidence import Cost, Evidence
from .linking.by_name import nearest_names
from .linking.topics import looked_up
from .stages import Answerer, DecidingLinker, Linker, ReadingAnswerer, Retriever
from .steps import Steps, measured
from .values import Entity, LinkedQuestion, Question


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages joined: a linker, a retriever (which may be one that reorganisers follow), an answerer."""

    linker: Linker
    retriever: Retriever
    answerer: Answerer

    @property
    def reads(self) -> int:
        """The most items of a question that the answerer reads, where it was trained with a number; else 0."""
        return self.answerer.reads if isinstance(self.answerer, ReadingAnswerer) else 0

    def retrieve(self, questions: Sequence[Question], top_k: int) -> Steps[list[Evidence[Any]]]:
        """Return evidence of at most `top_k` items for each question; one without a known entity has a note."""
        linked, costs = yield from self._linked(questions)
        offered, looking = yield from self._offered([each.question for each in linked if not each.topics])
        found = yield from self.retriever.retrieve(linked, top_k)
        return [
            replace(
                each.cut_to(top_k),
                trace=(*costs, *looking, *each.trace),
                **({} if each.topics else _nothing_linked(each.question, offered.get(each.question, ()))),
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
            looked_up(
                questions,
                [() if question.topic_entities else next(found) for question in questions],
                self.linker if isinstance(self.linker, DecidingLinker) else None,
            )
        )
        return topics, [
            Cost("link", linked_s - started_s, linking),
            Cost("topics", time.perf_counter() - linked_s, looking),
        ]

    def _offered(self, unlinked: Sequence[Question]) -> Steps[tuple[dict[Question, tuple[Entity, ...]], list[Cost]]]:
        """Return the entities whose names are nearest to what was asked about, where nothing goes by it."""
        if not unlinked:
            return {}, []
        started_s = time.perf_counter()
        texts = [" ".join(question.topic_entities) or question.text for question in unlinked]
        found, looking, _ = yield from measured(nearest_names(texts))
        cost = Cost("nearest names", time.perf_counter() - started_s, looking)
        return dict(zip(unlinked, found, strict=True)), [cost]


def _nothing_linked(question: Question, offered: tuple[Entity, ...]) -> dict[str, Any]:
    """Return what is said where a question has no topic."""
    named = ", ".join(map(repr, question.topic_entities))
    reason = f"no entity has the id or name {named}" if named else "no known entity in the question"
    offer = f"; did you mean {' or '.join(entity.label for entity in offered)}?" if offered else ""
    return {"note": reason + offer, "reason": "nothing linked", "did_you_mean": offered}
