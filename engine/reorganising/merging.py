"""Merge chains of different topic entities where they meet: the entities they share become their targets.

A question that names two entities mostly asks for what is related to both (ReG, section 4.2). Which chains are held
against each other is our own rule: a chain meets the best of the other topics' leads (their `NUM_LEADS` best one-hop
chains) with which it shares an end. Two candidates for the same mention are alternatives and never meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Kind
from ..steps import Steps
from ..values import Entity, Scored

NUM_LEADS = 5


class ChainMerger:
    """A `Reorganiser` that gives chains their targets; one with targets gains `bonus`, in log-odds.

    Of evidence without calibration no score is changed.
    """

    takes: Kind = "chain"
    gives: Kind = "chain"

    def __init__(self, bonus: float = 0.0) -> None:
        self.bonus = bonus

    def reorganise(self, evidence: Sequence[Evidence[Chain]]) -> Steps[list[Evidence[Chain]]]:
        """Return the evidence with targets, sorted anew."""
        yield from ()
        return [self._merged(each) for each in evidence]

    def _merged(self, evidence: Evidence[Chain]) -> Evidence[Chain]:
        bonus = evidence.calibration.from_log_odds(self.bonus) if evidence.calibration else 0.0
        mentions = {topic.entity.id: topic.mention for topic in evidence.topics}
        met = find_meeting_ends(evidence.items, mentions)
        items = [
            Scored(replace(each.value, targets=targets), each.score + bonus) if targets else each
            for each, targets in zip(evidence.items, met, strict=True)
        ]
        order = sorted(range(len(items)), key=lambda i: evidence.chain_order(items[i]))
        groups = tuple(evidence.groups[i] for i in order) if evidence.groups else ()
        return replace(evidence, items=tuple(items[i] for i in order), groups=groups)


def find_meeting_ends(chains: Sequence[Scored[Chain]], mentions: Mapping[str, str]) -> list[tuple[Entity, ...]]:
    """Return for each chain the ends at which it meets a lead of another topic, none where it meets none.

    mentions: how the question mentions each topic, by the topic's id.
    """
    leads: dict[str, list[Scored[Chain]]] = {}
    for each in sorted(chains, key=lambda each: -each.score):
        if each.value.relation_path.num_hops == 1:
            leads.setdefault(each.value.topic.id, []).append(each)
    chosen = sorted((lead for own in leads.values() for lead in own[:NUM_LEADS]), key=lambda lead: -lead.score)
    ends = [(lead.value.topic, frozenset(lead.value.ends)) for lead in chosen]
    targets: list[tuple[Entity, ...]] = []
    for each in chains:
        chain = each.value
        others = [of for topic, of in ends if are_distinct_mentions(chain.topic, topic, mentions)]
        shared = (tuple(end for end in chain.ends if end in of) for of in others)
        targets.append(next((met for met in shared if met), ()))
    return targets


def are_distinct_mentions(left: Entity, right: Entity, mentions: Mapping[str, str]) -> bool:
    """Whether the two are different entities that the question speaks of at different places."""
    mention = mentions.get(left.id, "")
    return left.id != right.id and (not mention or mention != mentions.get(right.id, ""))


def group_meeting_chains(
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
        topic: sorted(
            place for other in by_topic if are_distinct_mentions(topic, other, mentions) for place in by_topic[other]
        )
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
                and all(are_distinct_mentions(chains[other].value.topic, own, mentions) for other in group)
            ):
                group.append(place)
                shared &= ends[place]
        placed.update(group)
        groups.append((group, shared if len(group) > 1 else frozenset()))
    return groups


def add_targets(chain: Chain, shared: frozenset[Entity]) -> Chain:
    """Return the chain with the ends that its group shares as targets, in its own order."""
    return replace(chain, targets=tuple(end for end in chain.ends if end in shared))
