"""ReG's multi-entity merging (appendix D.4.2), for any number of topics: chains that lead to the same stand together.

Two topics that are candidates for the same mention are alternatives, and are never joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..evidence.chain import Chain
from ..values import Entity, Scored
from .merging import are_two


def groups_of(
    chains: Sequence[Scored[Chain]], mentions: Mapping[str, str]
) -> list[tuple[list[int], frozenset[Entity]]]:
    """Return the chains, best first, in groups: places of chains of different topics, and the ends that they share.

    A group begins with the best chain that is in none yet, and takes in the next ones that keep the shared ends from
    being empty, of each topic one. Where a chain is in no other's company its group has no shared ends.
    mentions: how the question mentions each topic, by the topic's id.
    """
    ends = [frozenset(each.value.ends) for each in chains]
    by_topic: dict[Entity, list[int]] = {}
    for place, each in enumerate(chains):
        by_topic.setdefault(each.value.topic, []).append(place)
    others = {
        topic: sorted(place for other in by_topic if are_two(topic, other, mentions) for place in by_topic[other])
        for topic in by_topic
    }
    placed: set[int] = set()
    groups: list[tuple[list[int], frozenset[Entity]]] = []
    for first, each in enumerate(chains):
        if first in placed:
            continue
        group, shared = [first], ends[first]
        for place in others[each.value.topic]:
            own = chains[place].value.topic
            if (
                place not in placed
                and not shared.isdisjoint(ends[place])
                and all(are_two(chains[other].value.topic, own, mentions) for other in group)
            ):
                group.append(place)
                shared &= ends[place]
        placed.update(group)
        groups.append((group, shared if len(group) > 1 else frozenset()))
    return groups


def with_targets(chain: Chain, shared: frozenset[Entity]) -> Chain:
    """Return the chain with the ends that its group shares as targets, in its own order."""
    return replace(chain, targets=tuple(end for end in chain.ends if end in shared))
