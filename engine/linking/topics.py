"""Topics: the entities that questions start from, looked up once in the graph for a whole batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..database.graph import Signature, read_signatures
from ..steps import Steps, one
from ..values import EntityCandidate, LinkedQuestion, Question, Scored, Topic

Candidates = Sequence[Scored[EntityCandidate]]


def looked_up(questions: Sequence[Question], linked: Sequence[Candidates]) -> Steps[list[LinkedQuestion]]:
    """Return the questions with their topics as the graph has them; those it does not have are left out.

    linked: what a linker found for each question. Where a question gives ids, these are its topics, and certain.
    """
    chosen: list[list[tuple[str, Scored[EntityCandidate] | None]]] = [
        [(id_, None) for id_ in dict.fromkeys(question.topic_entities)] or [(c.value.entity.id, c) for c in found]
        for question, found in zip(questions, linked, strict=True)
    ]
    ids = list(dict.fromkeys(id_ for some in chosen for id_, _ in some))
    signatures = (yield from one(read_signatures(ids))) if ids else {}
    return [
        LinkedQuestion(question, tuple(_topic(signatures[id_], found) for id_, found in some if id_ in signatures))
        for question, some in zip(questions, chosen, strict=True)
    ]


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


def _topic(signature: Signature, found: Scored[EntityCandidate] | None) -> Topic:
    if found is None:
        return Topic(signature.entity, signature.degree, signature.relations)
    value = found.value
    return Topic(
        signature.entity,
        signature.degree,
        signature.relations,
        found.score,
        value.mention,
        value.matched_name,
        value.probability,
    )
