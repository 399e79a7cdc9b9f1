"""Where made questions start: for each relation and direction some entities that have it, the same for a seed."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...database.graph import Signature

_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(slots=True)
class Starts:
    """Topics by the signed catalogue number of a relation at them, in an order that only the seed and their ids decide.

    together: for each relation that leaves entities how often each other one leaves the same.
    """

    topics: dict[int, list[Signature]] = field(default_factory=dict)
    together: dict[int, Counter[int]] = field(default_factory=dict)
    num_entities: int = 0


def starts_of(entities: Iterable[Signature], seed: int, max_topics: int) -> Starts:
    """Return `max_topics` entities of each signed number: those whose ids have the smallest hashes."""
    starts = Starts()
    kept: dict[int, list[tuple[int, str, Signature]]] = {}
    for entity in entities:
        starts.num_entities += 1
        digest = hashlib.blake2b(f"{seed}\n{entity.entity.id}".encode(), digest_size=8).digest()
        key = int.from_bytes(digest, "big")
        leaving = [number for number in entity.relations if number > 0]
        for number in entity.relations:
            heap = kept.setdefault(number, [])
            place = -(((key ^ number) * _MIX) & _MASK)  # a max-heap of the smallest
            if len(heap) < max_topics:
                heapq.heappush(heap, (place, entity.entity.id, entity))
            elif place > heap[0][0]:
                heapq.heapreplace(heap, (place, entity.entity.id, entity))
            if number > 0 and starts.num_entities % 8 == 1:
                starts.together.setdefault(number, Counter()).update(leaving)
    starts.topics = {number: [entity for *_, entity in sorted(heap, reverse=True)] for number, heap in kept.items()}
    return starts
