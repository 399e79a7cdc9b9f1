"""Write evidence and answers as plain data: one set of keys for the command line, HTTP, MCP and the frameworks.

The types say the keys (docs/how-it-works.md#as-json), and the schemas of HTTP and MCP are made of them.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from typing_extensions import TypedDict

from ..data_model import Chain, Entity, Topic, Triple
from .text import NO_LABELS, Labels, format_item, format_relation

if TYPE_CHECKING:
    from . import Answer, Evidence, Item

FORMAT = 2
"""Changes where a reader of the earlier format would go wrong."""

AnswerKind = Literal["entities", "number", "yes-no", "none"]
Reason = Literal["nothing linked", "no relation fits", "no triple", "not understood", "failed"]
"""Why there is no answer: no entity of the question is known; nothing that can be walked fits it; a relation fits, and
the graph has no triple of it there; the answer found leaves words of the question unused; the answerer failed."""


class EntityData(TypedDict):
    """An entity; an unnamed mediator has no name, the id of a literal is its N-Triples term."""

    id: str
    name: str | None


class TopicData(EntityData):
    """An entity that a question may be about: what it is, where the question mentions it, and how sure that is."""

    kind: str
    mention: str
    span: list[int] | None
    matched_name: str
    score: float | None
    probability: float | None
    degree: int


class TripleData(TypedDict):
    """A triple; `label` is what people are shown of its relation."""

    head: EntityData
    relation: str
    label: str
    tail: EntityData


class ItemData(TypedDict):
    """An item of evidence: a triple, or a chain with where it starts, its relations, and where it leads.

    `group` is there where a filter made groups, and `cut` is true where a bound stopped the reading.
    """

    kind: Literal["chain", "triple", "plan"]
    rank: NotRequired[int]
    score: float | None
    probability: float | None
    text: NotRequired[str]
    triples: NotRequired[list[TripleData]]
    topic: NotRequired[EntityData]
    relation_path: NotRequired[str]
    ends: NotRequired[list[EntityData]]
    cut: NotRequired[bool]
    group: NotRequired[int]


class EvidenceData(TypedDict):
    """The evidence for a question."""

    format: int
    id: str
    question: str
    topics: list[TopicData]
    items: list[ItemData]
    reason: Reason | None
    note: str
    left_out: list[str]
    did_you_mean: list[EntityData]
    seconds: float
    round_trips: int
    plan: NotRequired[dict[str, Any]]
    trace: NotRequired[dict[str, Any]]


class AnswerEntityData(TypedDict):
    """One answer; `evidence` has the ranks of the items that it rests on. A number or a yes has no id."""

    id: str | None
    name: str
    confidence: float | None
    origin: Literal["graph", "model", "both"]
    evidence: list[int]


class NearestAnswerData(TypedDict):
    """The answer to a question without the words that were not understood."""

    answer: str
    kind: AnswerKind
    number: float | None
    yes: bool | None


class AnswerData(EvidenceData):
    """An answer with the evidence that it rests on."""

    answer: str
    found: bool
    kind: AnswerKind
    number: float | None
    yes: bool | None
    answers: list[AnswerEntityData]
    confidence: float | None
    unsure: bool
    why: list[str]
    not_understood: list[str]
    nearest: NearestAnswerData | None
    answerer: str


def serialise_entity(entity: Entity) -> EntityData:
    return {"id": entity.id, "name": entity.name}


def serialise_topic(topic: Topic) -> TopicData:
    """Return a topic entity with how it was found; no mention where the asker named it by id."""
    return {
        **serialise_entity(topic.entity),
        "kind": topic.kind,
        "mention": topic.mention,
        "span": None if topic.span is None else list(topic.span),
        "matched_name": topic.matched_name,
        "score": round_score(topic.score),
        "probability": round_score(topic.probability),
        "degree": topic.degree,
    }


def serialise_triple(triple: Triple, labels: Labels = NO_LABELS) -> TripleData:
    return {
        "head": serialise_entity(triple.head),
        "relation": triple.relation,
        "label": format_relation(triple.relation, labels),
        "tail": serialise_entity(triple.tail),
    }


def serialise_item(evidence: Evidence[Item], index: int) -> ItemData:
    """Return an item with its rank, counted from 1, its score, and the probability that it leads to an answer."""
    scored = evidence.items[index]
    item = scored.value
    data: ItemData = {
        "kind": "chain" if isinstance(item, Chain) else "triple",
        "rank": index + 1,
        "score": round_score(scored.score),
        "probability": round_score(evidence.probability(index)),
        "text": format_item(item, evidence.labels),
    }
    if isinstance(item, Chain):
        data["topic"] = serialise_entity(item.topic)
        data["relation_path"] = str(item.relation_path)
        data["ends"] = [serialise_entity(end) for end in item.answers]
        data["cut"] = item.cut
        triples = dict.fromkeys(triple for step in item.triples() for triple in step)
        data["triples"] = [serialise_triple(triple, evidence.labels) for triple in triples]
    else:
        data["triples"] = [serialise_triple(item, evidence.labels)]
    if scored.group is not None:
        data["group"] = scored.group
    return data


def serialise_evidence(evidence: Evidence[Item], *, trace: bool = False) -> EvidenceData:
    """Return evidence; `trace` adds what `explain` shows: costs, what stood after each stage, and the calibration."""
    data: EvidenceData = {
        "format": FORMAT,
        "id": evidence.question.id,
        "question": evidence.question.text,
        "topics": [serialise_topic(topic) for topic in evidence.topics],
        "items": [serialise_item(evidence, index) for index in range(len(evidence.items))],
        "reason": evidence.reason,
        "note": evidence.note,
        "left_out": list(evidence.cuts),
        "did_you_mean": [serialise_entity(entity) for entity in evidence.absence.nearest] if evidence.absence else [],
        "seconds": round(evidence.seconds, 4),
        "round_trips": evidence.round_trips,
    }
    for extra in evidence.extras:
        data |= extra.to_dict()  # type: ignore[typeddict-item]
    if trace:
        data["trace"] = {
            "costs": [
                {
                    "stage": cost.stage,
                    "seconds": round(cost.seconds, 4),
                    "round_trips": cost.round_trips,
                    "searches": cost.searches,
                    "batches": cost.batches,
                }
                | ({"llm": asdict(cost.llm)} if cost.llm.calls + cost.llm.cached else {})
                for cost in evidence.trace.costs
            ],
            "stages": [{"stage": name, "kind": kind, "items": number} for name, kind, number in evidence.trace.stages],
            "calibration": None if evidence.calibration is None else asdict(evidence.calibration),
        }
    return data


def serialise_answer(answer: Answer, *, trace: bool = False) -> AnswerData:
    """Return an answer with its evidence; what an entity rests on are ranks of items, counted from 1."""
    near = answer.nearest
    nearest: NearestAnswerData | None = None
    if near is not None:
        nearest = {"answer": near.text, "kind": near.kind, "number": near.number, "yes": near.yes}
    return {
        **serialise_evidence(answer.evidence, trace=trace),
        "answer": answer.text,
        "found": answer.found,
        "kind": answer.kind,
        "number": answer.number,
        "yes": answer.yes,
        "answers": [
            {
                "id": entity.id,
                "name": entity.name,
                "confidence": round_score(entity.confidence),
                "origin": entity.origin,
                "evidence": [index + 1 for index in entity.evidence],
            }
            for entity in answer.answers
        ],
        "confidence": round_score(answer.confidence),
        "unsure": answer.unsure,
        "reason": answer.reason,
        "why": list(answer.why),
        "not_understood": list(answer.not_understood),
        "nearest": nearest,
        "answerer": answer.answerer,
    }


def round_score(value: float | None) -> float | None:
    """Return a score with six digits; None for none, and for one that JSON has no word for."""
    return None if value is None or not math.isfinite(value) else round(value, 6)
