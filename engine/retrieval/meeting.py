"""Paths from different topic entities that meet: evidence for both, and for the entities they meet at.

A question that names two entities mostly asks for what is related to both. Our own rule, no paper's: a path meets the
best of the other topics' leads (their `NUM_LEADS` best one-hop paths) with which it shares an end. Two candidates for
the same mention are alternatives and never meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NUM_LEADS = 5


@dataclass(frozen=True, slots=True)
class Lead:
    """What of a path matters for meeting: its topic, the mention the topic was linked by, and where it leads."""

    topic: str
    mention: str
    num_hops: int
    ends: frozenset[str]
    score: float


def meetings(paths: Sequence[Lead]) -> list[frozenset[str]]:
    """Return for each path the ends at which it meets a lead of another topic, empty where it meets none."""
    by_score = sorted(paths, key=lambda path: -path.score)
    leads: dict[str, list[Lead]] = {}
    for path in by_score:
        if path.num_hops == 1:
            leads.setdefault(path.topic, []).append(path)
    chosen = sorted((lead for own in leads.values() for lead in own[:NUM_LEADS]), key=lambda lead: -lead.score)
    return [
        next((path.ends & lead.ends for lead in chosen if _are_two(path, lead) and path.ends & lead.ends), frozenset())
        for path in paths
    ]


def _are_two(path: Lead, lead: Lead) -> bool:
    """Whether the two start from different entities that the question speaks of at different places."""
    return path.topic != lead.topic and (not path.mention or path.mention != lead.mention)
