"""Find what every adapter passes on: the same items, texts and scores in the same order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..errors import UsageError
from ..evidence.chain import Chain
from ..evidence.data import FORMAT, item_data
from ..evidence.evidence import Answer, Evidence, Item
from ..evidence.extras import FormResult

MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """An item of evidence for a framework.

    id: the same for every question. text: the chain, or the triple, in words. score: None for the result of a form.
    metadata: plain data for JSON: `source`, `format`, `kind`, the item as in docs/how-it-works.md, and `abstained`.
    """

    id: str
    text: str
    score: float | None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EvidenceFinder:
    """Finds the best items for a question, at most `top_k`.

    engine: an `Engine`, or anything with its `retrieve` and `aretrieve`. A question without a known entity has no
    items; neither has one that `ask` has no answer to, with `leave_out_abstained`. Everything else that goes wrong is a
    `LodestarError`.
    """

    engine: Any
    top_k: int = 10
    leave_out_abstained: bool = False

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise UsageError(f"expected at least 1 item, found {self.top_k}")

    def keeping(self, top_k: int | None) -> EvidenceFinder:
        """Return a finder of so many items; this one for None."""
        return self if top_k is None else replace(self, top_k=top_k)

    def find(self, question: str, **options: Any) -> list[EvidenceItem]:
        """Return the items, best first; the result of a form before them. options: of the engine's call."""
        evidence = self.engine.retrieve(question, top_k=self.top_k, **options)
        answers = self.engine.answer_evidence([evidence]) if self._answers_alone else None
        return self._items(evidence, None if answers is None else answers[0])

    async def afind(self, question: str, **options: Any) -> list[EvidenceItem]:
        """Like `find`."""
        evidence = await self.engine.aretrieve(question, top_k=self.top_k, **options)
        answers = await self.engine.aanswer_evidence([evidence]) if self._answers_alone else None
        return self._items(evidence, None if answers is None else answers[0])

    @property
    def _answers_alone(self) -> bool:
        """Whether the engine tells without a language model if there is an answer."""
        answerer = getattr(getattr(self.engine, "recipe", None), "answerer", None)
        return getattr(answerer, "name", "") == "extractive"

    def _items(self, evidence: Evidence[Item], answer: Answer | None) -> list[EvidenceItem]:
        abstained = None if answer is None else not answer.found
        if abstained and self.leave_out_abstained:
            return []
        found = [item for item in items_of(evidence) if not (abstained and item.metadata["kind"] == "form")]
        for item in found[: self.top_k]:
            item.metadata["abstained"] = abstained
            item.metadata["not_understood"] = [] if answer is None else list(answer.not_understood)
        return found[: self.top_k]


def items_of(evidence: Evidence[Item]) -> list[EvidenceItem]:
    """Return the items of evidence, best first; what came of a question of a form before the paths it rests on."""
    found = [_item(evidence, index) for index in range(len(evidence.items))]
    form = evidence.extra_of(FormResult)
    return found if form is None else [_form_item(evidence, form), *found]


def _form_item(evidence: Evidence[Item], form: FormResult) -> EvidenceItem:
    names = ", ".join(each.entity.label for each in form.found[:MAX_NAMED])
    said = form.reason or form.says or (str(form.total) if form.counted else names)
    metadata = {"source": "lodestar", "format": FORMAT, "kind": "form", **form.to_dict()}
    return EvidenceItem(f"form {evidence.question.text}", f"{said} ({form.text})", None, metadata)


def _item(evidence: Evidence[Item], index: int) -> EvidenceItem:
    data = item_data(evidence, index)
    text = data.pop("text")
    metadata = {"source": "lodestar", "format": FORMAT, **data}
    return EvidenceItem(_identity(evidence.items[index].value), text, data["score"], metadata)


def _identity(item: Item) -> str:
    if isinstance(item, Chain):
        return f"{item.topic.id} {item.relation_path}"
    return f"{item.head.id} {item.relation} {item.tail.id}"
