"""Values as plain data for JSON: what `--json` prints and what adapters pass on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .explaining.explanation import Explanation, Word
from .values import Answer, Entity, EntityCandidate, Path, Retrieval, RetrievedPath, Scored


def entity_data(entity: Entity) -> dict[str, Any]:
    """Return an entity's id and name (null for an unnamed mediator), and of a literal that it is one."""
    return {"id": entity.id, "name": entity.name} | ({"literal": True} if entity.is_literal else {})


def candidate_data(candidate: Scored[EntityCandidate]) -> dict[str, Any]:
    """Return a linked entity with the mention it was found by."""
    value = candidate.value
    return {
        **entity_data(value.entity),
        "score": round(candidate.score, 6),
        "mention": value.mention,
        "matched_name": value.matched_name,
        "degree": value.degree,
    }


def path_data(path: Path) -> list[dict[str, Any]]:
    """Return the triples of an entity path in walking order."""
    return [
        {
            "head": entity_data(triple.head),
            "relation": triple.relation,
            "tail": entity_data(triple.tail),
            "inverse": inverse,
        }
        for triple, inverse in zip(path.triples, path.inverses, strict=True)
    ]


def retrieved_path_data(rank: int, path: Scored[RetrievedPath], max_instances: int | None = None) -> dict[str, Any]:
    """Return a ranked path; `rank` counts from 1, `max_instances` bounds the entity paths written out."""
    value = path.value
    return {
        "rank": rank,
        "score": round(path.score, 6),
        "topic": entity_data(value.topic),
        "relation_path": [
            {"relation": s.relation, "inverse": s.inverse, "to_mediator": s.to_mediator}
            for s in value.relation_path.steps
        ],
        "ends": [entity_data(end) for end in value.ends],
        "meeting": [end.id for end in value.meeting],
        "instances": [path_data(instance) for instance in value.instances[:max_instances]],
        "cut": value.cut,
    }


def retrieval_data(retrieval: Retrieval) -> dict[str, Any]:
    """Return a retrieval with everything it holds."""
    return {
        "id": retrieval.question.id,
        "question": retrieval.question.text,
        "topics": [candidate_data(topic) for topic in retrieval.topics],
        "paths": [retrieved_path_data(rank, path) for rank, path in enumerate(retrieval.paths, start=1)],
        "cuts": list(retrieval.cuts),
        "note": retrieval.note,
        "seconds": {stage: round(seconds, 4) for stage, seconds in retrieval.seconds.items()},
        "round_trips": retrieval.round_trips,
    }


def answer_data(answer: Answer) -> dict[str, Any]:
    """Return an answer with its retrieval; evidence are ranks of paths, counted from 1."""
    return {
        "answer": answer.text,
        "found": answer.found,
        "answerer": answer.answerer,
        "answers": [
            {
                "name": entity.name,
                "id": entity.id,
                "confidence": round(entity.confidence, 6),
                "origin": entity.origin,
                "evidence": [index + 1 for index in entity.evidence],
            }
            for entity in answer.entities
        ],
        **retrieval_data(answer.retrieval),
    }


def explanation_data(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation: each path as in a retrieval, with the weights of words and of their tokens."""
    return {
        "id": explanation.question.id,
        "question": explanation.question.text,
        "paths": [
            {
                **retrieved_path_data(rank, Scored(path.path, path.score)),
                "cross_score": round(path.cross_score, 6),
                "question_words": _words_data(path.question),
                "path_words": _words_data(path.words),
            }
            for rank, path in enumerate(explanation.paths, start=1)
        ],
        "note": explanation.note,
    }


def _words_data(words: Sequence[Word]) -> list[dict[str, Any]]:
    return [
        {
            "word": word.text,
            "weight": round(word.weight, 6),
            "tokens": [{"token": token, "weight": round(weight, 6)} for token, weight in word.tokens],
        }
        for word in words
    ]
