"""Topics: the entities that questions start from, looked up once in the graph for a whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..neo4j.graph import Signature, read_signatures, read_value_signatures
from ..stages import DecidingLinker
from ..steps import Steps, one, together
from ..values import EntityCandidate, LinkedQuestion, Question, Scored, Topic
from .by_name import entities_named

Candidates = Sequence[Scored[EntityCandidate]]


def looked_up(
    questions: Sequence[Question], linked: Sequence[Candidates], linker: DecidingLinker | None = None
) -> Steps[list[LinkedQuestion]]:
    """Return the questions with their topics as the graph has them; those it does not have are left out.

    linked: what a linker found for each question. Where a question gives ids, these are its topics, and certain; what
    is no id is taken for a name, at the cost of further round trips. linker: weighs the candidates again, now that the
    relations at them are known.
    """
    ids = list(dict.fromkeys(id_ for q in questions for id_ in q.topic_entities))
    ids += [
        c.value.entity.id for q, found in zip(questions, linked, strict=True) if not q.topic_entities for c in found
    ]
    signatures = yield from _signatures(list(dict.fromkeys(ids)))
    unknown = [id_ for q in questions for id_ in q.topic_entities if id_ not in signatures]
    named = (yield from _named(list(dict.fromkeys(unknown)))) if unknown else {}
    signatures |= named
    there = [[(c, signatures[i]) for c in found if (i := c.value.entity.id) in signatures] for found in linked]
    if linker is not None:
        free = [at for at, question in enumerate(questions) if not question.topic_entities and there[at]]
        decided = linker.decide([questions[at] for at in free], [there[at] for at in free])
        for at, some in zip(free, decided, strict=True):
            there[at] = [(c, signatures[c.value.entity.id]) for c in some]
    return [
        LinkedQuestion(
            question,
            _given(question, signatures)
            if question.topic_entities
            else tuple(_topic(signature, candidate) for candidate, signature in some),
        )
        for question, some in zip(questions, there, strict=True)
    ]


def _signatures(ids: Sequence[str]) -> Steps[dict[str, Signature]]:
    """Return the signatures of the entities, and of the literals, among these ids; one round trip."""
    if not ids:
        return {}
    literals = [id_ for id_ in ids if id_.startswith('"')]
    found = yield from together([read_signatures(ids), *([read_value_signatures(literals)] if literals else [])])
    return {id_: signature for some in found for id_, signature in some.items()}


def decided(
    questions: Sequence[Question], linked: Sequence[Candidates], linker: DecidingLinker
) -> Steps[list[tuple[Scored[EntityCandidate], ...]]]:
    """Return what a linker found, weighed again by the relations at it; one round trip."""
    ids = dict.fromkeys(candidate.value.entity.id for found in linked for candidate in found)
    signatures = yield from one(read_signatures(list(ids)))
    there = [[(c, signatures[i]) for c in found if (i := c.value.entity.id) in signatures] for found in linked]
    return [tuple(some) for some in linker.decide(questions, there)]


def started_from(topics: Sequence[Topic], max_topics: int, min_link: float) -> Sequence[Topic]:
    """Return the topics to start from: all that the asker named, else the best `max_topics` of those linked with at
    least `min_link` of the best one's score."""
    if all(topic.is_given for topic in topics):
        return topics
    least = min_link * max(topic.score for topic in topics)
    return [topic for topic in topics if topic.score >= least][:max_topics]


def link_penalties(topics: Sequence[Topic], link_weight: float) -> Mapping[str, float]:
    """Return by topic id what its link takes from a score, 0 or less: `link_weight` for each 1 it lacks to the best."""
    best = max((topic.score for topic in topics), default=0.0)
    return {topic.entity.id: link_weight * (topic.score - best) for topic in topics}


def _named(names: Sequence[str]) -> Steps[dict[str, Signature]]:
    """Return the entities that go by these names, by name."""
    entities = yield from entities_named(names)
    if not entities:
        return {}
    signatures = yield from one(read_signatures([entity.id for entity in entities.values()]))
    return {name: signatures[entity.id] for name, entity in entities.items() if entity.id in signatures}


def _given(question: Question, signatures: Mapping[str, Signature]) -> tuple[Topic, ...]:
    found = {s.entity.id: s for given in question.topic_entities if (s := signatures.get(given)) is not None}
    return tuple(Topic(s.entity, s.degree, s.relations) for s in found.values())


def _topic(signature: Signature, found: Scored[EntityCandidate]) -> Topic:
    value = found.value
    return replace(
        Topic(signature.entity, signature.degree, signature.relations),
        score=found.score,
        mention=value.mention,
        matched_name=value.matched_name,
        probability=value.probability,
        span=value.span,
        kind=value.kind,
    )
