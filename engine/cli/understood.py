"""What a question was taken to be about, in words: its topics as it mentions them, and others that were close."""

from __future__ import annotations

from ...models.words import fold
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..values import Topic

CLOSE = 0.3
"""Of a topic's probability, what another entity of the same words needs to be named beside it."""
MAX_CLOSE = 2


def about(evidence: Evidence[Item]) -> str:
    """Return the topics that the items start from, those of triples all; as mentioned where that is another word."""
    return ", ".join(dict.fromkeys(_named(topic) for topic in topics_of(evidence)))


def close_ones(evidence: Evidence[Item]) -> str:
    """Return the entities that the words of the topics may also mean, likeliest first; empty where nothing is close."""
    taken = topics_of(evidence)
    ids = {topic.entity.id for topic in taken}
    close = [
        other
        for other in evidence.topics
        if other.entity.id not in ids and any(_is_close(other, topic) for topic in taken)
    ]
    return " or ".join(f"{_described(other)}, {other.entity.id}" for other in close[:MAX_CLOSE])


def topics_of(evidence: Evidence[Item]) -> list[Topic]:
    """Return the topics that the chains start from, in the order of the chains; of triples all topics."""
    known = {topic.entity.id: topic for topic in evidence.topics}
    if evidence.kind == "triple":
        return list(known.values())
    starts = dict.fromkeys(each.value.topic for each in evidence.items if isinstance(each.value, Chain))
    return [known.get(entity.id, Topic(entity)) for entity in starts]


def _named(topic: Topic) -> str:
    said = topic.mention and fold(topic.mention) != fold(topic.entity.label)
    return _described(topic) + (f", “{topic.mention}”" if said else "")


def _described(topic: Topic) -> str:
    return topic.entity.label + (f" ({topic.kind})" if topic.kind else "")


def _is_close(other: Topic, topic: Topic) -> bool:
    if other.span is None or topic.span is None:
        return False
    overlap = other.span[0] < topic.span[1] and topic.span[0] < other.span[1]
    return overlap and other.score >= CLOSE * topic.score
