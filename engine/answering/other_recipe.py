"""The answerer that asks another recipe: two answers to integrate where there is no language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..evidence.answer import Answer
from ..evidence.evidence import Evidence, Item
from ..stages import Answerer, Retriever
from ..steps import Steps
from ..values import LinkedQuestion


class OtherRecipe:
    """An `Answerer` that retrieves anew, from the topics of the evidence, and answers by what it finds.

    Its answers stand where the language model's own would: their origin is ``model``, and they name no items, for what
    they rest on is not in the evidence.
    """

    def __init__(self, name: str, retriever: Retriever, answerer: Answerer, top_k: int) -> None:
        self._name = name
        self._retriever = retriever
        self._answerer = answerer
        self._top_k = top_k

    def answer(self, evidence: Sequence[Evidence[Item]]) -> Steps[list[Answer]]:
        """Return the other recipe's answer to each question."""
        linked = [LinkedQuestion(each.question, each.topics) for each in evidence]
        found = yield from self._retriever.retrieve(linked, self._top_k)
        answers = yield from self._answerer.answer([each.cut_to(self._top_k) for each in found])
        return [self._as_own(answer) for answer in answers]

    def _as_own(self, answer: Answer) -> Answer:
        entities = tuple(replace(entity, origin="model", evidence=()) for entity in answer.entities)
        return replace(answer, entities=entities, answerer=self._name)
