"""ReG's chain expansion (section 4.2, appendix D.4.1): the chains that retrieved triples make from the topics.

Breadth first from the triples that a topic is the head of, by triples whose head is the tail of the last; and the
mirror image, from the triples that a topic is the tail of, growing leftwards. No triple is in a chain twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..neo4j.graph import ChainSteps, ExpansionBounds, Levels, TripleColumns
from ..values import Entity, Triple


def columns_of(triples: Sequence[Triple], topics: Sequence[Entity]) -> TripleColumns:
    """Return triples as columns; `topics` are the first nodes, in order."""
    numbers = {entity: number for number, entity in enumerate(dict.fromkeys(topics))}
    num_topics = len(numbers)
    ends = [
        (numbers.setdefault(triple.head, len(numbers)), numbers.setdefault(triple.tail, len(numbers)))
        for triple in triples
    ]
    return TripleColumns(
        num_topics,
        ids=tuple(entity.id for entity in numbers),
        literals=tuple(entity.is_literal for entity in numbers),
        heads=tuple(head for head, _ in ends),
        relations=tuple(triple.relation for triple in triples),
        tails=tuple(tail for _, tail in ends),
    )


def expanded(columns: TripleColumns, bounds: ExpansionBounds) -> list[Levels]:
    """Return the chains from each topic: what the request `expand_chains` gives where the graph has all the triples."""
    leaving = _leaving(columns)
    return [tuple(_levels(topic, columns, leaving, bounds)) for topic in range(columns.topics)]


def _leaving(columns: TripleColumns) -> Mapping[int, list[int]]:
    leaving: dict[int, list[int]] = {}
    for place, (head, tail) in enumerate(zip(columns.heads, columns.tails, strict=True)):
        leaving.setdefault(head, []).append(2 * place)
        if head != tail and not columns.literals[tail]:
            leaving.setdefault(tail, []).append(2 * place + 1)
    return leaving


def _levels(
    topic: int, columns: TripleColumns, leaving: Mapping[int, list[int]], bounds: ExpansionBounds
) -> Iterator[tuple[ChainSteps, ...]]:
    level: tuple[ChainSteps, ...] = tuple((step,) for step in leaving.get(topic, [])[: bounds.max_chains + 1])
    yield level
    for _ in range(1, bounds.max_length):
        level = _longer(level[: bounds.max_chains], columns, leaving, bounds)
        yield level


def _longer(
    level: Sequence[ChainSteps], columns: TripleColumns, leaving: Mapping[int, list[int]], bounds: ExpansionBounds
) -> tuple[ChainSteps, ...]:
    longer: list[ChainSteps] = []
    for chain in level:
        last = chain[-1]
        walked = {step >> 1 for step in chain}
        end = (columns.heads if last & 1 else columns.tails)[last >> 1]
        for step in leaving.get(end, ()):
            if (bounds.turning or (step ^ last) & 1 == 0) and step >> 1 not in walked:
                longer.append((*chain, step))
                if len(longer) > bounds.max_chains:
                    return tuple(longer)
    return tuple(longer)
