"""Run a pipeline: link, retrieve, reorganise and answer a batch of questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .evidence.evidence import Answer, Evidence
from .evidence.extras import DidYouMean
from .linking.topics import find_nearest_names, look_up_topics
from .stages import Answerer, Linker, ReadingAnswerer, RerankingLinker, Retriever
from .steps import Steps, measure_costs, run_stage
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
        found, costs = yield from measure_costs(self._retrieve(questions, top_k))
        return [each.add_costs(costs) for each in found]

    def answer(self, evidence: Sequence[Evidence[Any]]) -> Steps[list[Answer]]:
        """Return an answer to each question; what it took stands in its evidence."""
        answers, costs = yield from measure_costs(run_stage("answer", self.answerer.answer(evidence), is_whole=True))
        return [replace(answer, evidence=answer.evidence.add_costs(costs)) for answer in answers]

    def ask(self, questions: Sequence[Question], top_k: int) -> Steps[list[Answer]]:
        """Return an answer to each question."""
        found = yield from self.retrieve(questions, top_k)
        return (yield from self.answer(found))

    def _retrieve(self, questions: Sequence[Question], top_k: int) -> Steps[list[Evidence[Any]]]:
        linked = yield from self._link(questions)
        unlinked = [each.question for each in linked if not each.topics]
        offered: dict[Question, tuple[Entity, ...]] = {}
        if unlinked:
            texts = [" ".join(question.topic_entities) or question.text for question in unlinked]
            found_names = yield from run_stage("nearest names", find_nearest_names(texts))
            offered = dict(zip(unlinked, found_names, strict=True))
        found = yield from self.retriever.retrieve(linked, top_k)
        return [
            replace(
                each.cut_to(top_k),
                **({} if each.topics else _nothing_linked(each.question, offered.get(each.question, ()))),
            )
            for each in found
        ]

    def _link(self, questions: Sequence[Question]) -> Steps[list[LinkedQuestion]]:
        """Link the questions that name no entities, then look all topics up."""
        free = [question for question in questions if not question.topic_entities]
        found = iter((yield from run_stage("link", self.linker.link(free))) if free else [])
        linked = [() if question.topic_entities else next(found) for question in questions]
        linker = self.linker if isinstance(self.linker, RerankingLinker) else None
        return (yield from run_stage("topics", look_up_topics(questions, linked, linker)))


def _nothing_linked(question: Question, offered: tuple[Entity, ...]) -> dict[str, Any]:
    """Return what is said where a question has no topic."""
    named = ", ".join(map(repr, question.topic_entities))
    reason = f"no entity has the id or name {named}" if named else "no known entity in the question"
    offer = f"; did you mean {' or '.join(entity.label for entity in offered)}?" if offered else ""
    return {"note": reason + offer, "reason": "nothing linked", "extras": (DidYouMean(offered),) if offered else ()}
