"""Find what every adapter passes on: the same items, texts and scores in the same order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..data_model import Chain
from ..errors import UsageError
from ..evidence import Evidence, Item, PlanAnswer
from ..evidence.json_data import FORMAT, serialise_item

MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """An item of evidence for a framework.

    id: the same for every question. text: the chain, or the triple, in words. score: None for the result of a form.
    metadata: plain data for JSON: `source`, `format`, the item as in docs/how-it-works.md, and where the engine answers
    without a language model `abstained` and `not_understood`.
    """

    id: str
    text: str
    score: float | None
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EvidenceFinder:
    """Finds the best items for a question, at most `top_k`.

    engine: an `Engine`, or anything with its `retrieve`. A question without a known entity has no items; neither has
    one that `ask` has no answer to, with `leave_out_abstained`.
    """

    engine: Any
    top_k: int = 10
    leave_out_abstained: bool = False

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise UsageError(f"expected at least 1 item, found {self.top_k}")

    def find(self, question: str, top_k: int | None = None, **options: Any) -> list[EvidenceItem]:
        """Return the items, best first; the result of a form before them. options: those of `Engine.retrieve`."""
        top_k = self.top_k if top_k is None else top_k
        evidence = self.engine.retrieve(question, top_k=top_k, **options)
        answerer = getattr(getattr(self.engine, "recipe", None), "answerer", None)
        if getattr(answerer, "name", "") != "extractive":  # a language model would be asked
            return _items_of(evidence)[:top_k]
        (answer,) = self.engine.answer_evidence([evidence], **options)
        if self.leave_out_abstained and not answer.found:
            return []
        found = [item for item in _items_of(evidence) if answer.found or item.metadata["kind"] != "plan"][:top_k]
        for item in found:
            item.metadata.update(abstained=not answer.found, not_understood=list(answer.not_understood))
        return found


def _items_of(evidence: Evidence[Item]) -> list[EvidenceItem]:
    """Return the items of evidence, best first; what a plan gives before the triples it rests on."""
    found = [_item(evidence, index) for index in range(len(evidence.items))]
    plan = evidence.extra_of(PlanAnswer)
    return found if plan is None else [_plan_item(evidence, plan), *found]


def _plan_item(evidence: Evidence[Item], plan: PlanAnswer) -> EvidenceItem:
    said = plan.reason or plan.says or ", ".join(entity.label for entity, _ in plan.found[:MAX_NAMED])
    metadata = {"source": "lodestar", "format": FORMAT, "kind": "plan", **plan.to_dict()}
    return EvidenceItem(f"plan {evidence.question.text}", f"{said} ({plan.text})", None, metadata)


def _item(evidence: Evidence[Item], index: int) -> EvidenceItem:
    data, item = serialise_item(evidence, index), evidence.items[index].value
    if isinstance(item, Chain):
        identity = f"{item.topic.id} {item.relation_path}"
    else:
        identity = f"{item.head.id} {item.relation} {item.tail.id}"
    text = data.pop("text")
    return EvidenceItem(identity, text, data["score"], {"source": "lodestar", "format": FORMAT, **data})
