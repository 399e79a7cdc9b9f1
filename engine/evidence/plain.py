"""Write evidence and answers as plain data for JSON: `--json` prints it, records keep it, adapters pass it on.

docs/evidence.md describes the form; `FORMAT` changes where a reader of an earlier one would go wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..steps import StageCost
from ..values import Entity, Topic, Triple
from .chain import Chain
from .evidence import Answer, Evidence, Item

FORMAT = 1


def entity_data(entity: Entity) -> dict[str, Any]:
    """Return an entity's id and name (null for an unnamed mediator), and of a literal that it is one."""
    return {"id": entity.id, "name": entity.name} | ({"literal": True} if entity.is_literal else {})


def topic_data(topic: Topic) -> dict[str, Any]:
    """Return a topic entity with how it was found; no mention where the asker named it by id."""
    return {
        **entity_data(topic.entity),
        "score": round_score(topic.score),
        "probability": None if topic.probability is None else round_score(topic.probability),
        "mention": topic.mention,
        "span": None if topic.span is None else list(topic.span),
        "matched_name": topic.matched_name,
        "kind": topic.kind,
        "degree": topic.degree,
    }


def triple_data(triple: Triple) -> dict[str, Any]:
    """Return a triple with its entities."""
    return {"head": entity_data(triple.head), "relation": triple.relation, "tail": entity_data(triple.tail)}


def chain_data(chain: Chain) -> dict[str, Any]:
    """Return a chain: its steps with all their triples by id, the names of the entities in a table of their own.

    An entity or triple that occurs several times is the same object in the result: chains are most of a reply.
    """
    links = chain.links()
    entities: dict[str, dict[str, Any]] = {}
    steps = []
    for step, some in zip(chain.steps, links, strict=True):
        ordered = [step.head_and_tail(link) for link in some]
        for triple in ordered:
            for entity in triple:
                if entity.id not in entities:
                    entities[entity.id] = entity_data(entity)
        steps.append(
            {
                "relation": step.step.relation,
                "inverse": step.step.inverse,
                "to_mediator": step.step.to_mediator,
                "triples": [[head.id, tail.id] for head, tail in ordered],
            }
        )
    return {
        "topic": entity_data(chain.topic),
        "relation_path": str(chain.relation_path),
        "steps": steps,
        "entities": list(entities.values()),
        "ends": [entities[end.id] for end in chain.ends],
        "targets": [end.id for end in chain.targets],
        "instances": _instances_data(chain, entities),
        "cut": chain.cut,
    }


def _instances_data(chain: Chain, entities: Mapping[str, dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the triples of the chain's instances, each in walking order."""
    written: dict[tuple[int, str], dict[str, Any]] = {}
    instances = []
    for links in chain.instance_links():
        triples = []
        for number, (step, link) in enumerate(zip(chain.steps, links, strict=True)):
            key = (number, link[1].id)  # only the first link to an entity is on an instance
            if key not in written:
                head, tail = step.head_and_tail(link)
                written[key] = {
                    "head": entities[head.id],
                    "relation": step.step.relation,
                    "tail": entities[tail.id],
                    "inverse": step.step.inverse,
                }
            triples.append(written[key])
        instances.append(triples)
    return instances


def item_data(evidence: Evidence[Item], index: int) -> dict[str, Any]:
    """Return an item with its rank, counted from 1, its score, and the probability that it leads to an answer."""
    scored = evidence.items[index]
    probability = evidence.probability(index)
    item = scored.value
    return {
        "rank": index + 1,
        "score": round_score(scored.score),
        "probability": None if probability is None else round_score(probability),
        "group": evidence.group(index),
        **(chain_data(item) if isinstance(item, Chain) else triple_data(item)),
    }


def cost_data(cost: StageCost) -> dict[str, Any]:
    """Return what a stage took; of a language model only where it was asked."""
    asked = cost.llm.calls + cost.llm.cached
    return {
        "stage": cost.stage,
        "seconds": round(cost.seconds, 4),
        "round_trips": cost.round_trips,
        **({"llm": asdict(cost.llm)} if asked else {}),
    }


def evidence_data(evidence: Evidence[Item]) -> dict[str, Any]:
    """Return evidence with everything it holds but the paths that were only walked."""
    calibration = evidence.calibration
    return {
        "format": FORMAT,
        "id": evidence.question.id,
        "question": evidence.question.text,
        "topics": [topic_data(topic) for topic in evidence.topics],
        "kind": evidence.kind,
        "calibration": None if calibration is None else asdict(calibration),
        "items": [item_data(evidence, index) for index in range(len(evidence.items))],
        "cuts": list(evidence.cuts),
        "note": evidence.note,
        "did_you_mean": [],
        **{key: value for extra in evidence.extras for key, value in extra.as_json().items()},
        "trace": [cost_data(cost) for cost in evidence.trace],
        "seconds": round(evidence.seconds, 4),
        "round_trips": evidence.round_trips,
    }


def result_data(answer: Answer) -> dict[str, Any]:
    """Return what an answer is, in the form that every interface has: its kind, with names, a number or yes."""
    return {"kind": answer.kind, "names": list(answer.names), "number": answer.number, "yes": answer.yes}


def answer_data(answer: Answer) -> dict[str, Any]:
    """Return an answer with its evidence; what an entity rests on are ranks of items, counted from 1."""
    return {
        "answer": answer.text,
        "result": result_data(answer),
        "found": answer.found,
        "unsure": answer.unsure,
        "reason": answer.reason,
        "confidence": None if answer.confidence is None else round_score(answer.confidence),
        "failed": answer.failure is not None,
        "answerer": answer.answerer,
        "why": list(answer.why),
        "answers": [
            {
                "name": entity.name,
                "id": entity.id,
                "confidence": None if entity.confidence is None else round_score(entity.confidence),
                "origin": entity.origin,
                "evidence": [index + 1 for index in entity.evidence],
            }
            for entity in answer.answers
        ],
        **evidence_data(answer.evidence),
    }


def round_score(value: float) -> float | None:
    """Return a score with six digits; None for one that JSON has no word for."""
    return round(value, 6) if math.isfinite(value) else None
