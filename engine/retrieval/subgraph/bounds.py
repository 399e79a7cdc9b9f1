"""How many triples of each relation may be read at each node, so that a question's subgraph keeps to its bounds.

Relation signatures have the counts, so that all of it is known before a triple is read, and what is left out as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SubgraphBounds:
    """What a question's subgraph may hold. All are our own choices; what a bound leaves out is reported.

    fan_out: triples of a node, relation and direction. node_triples: triples read at a node. question_triples: triples
    in all; a triple that is read from both its ends in one step counts twice.
    """

    fan_out: int = 500
    node_triples: int = 2_000
    question_triples: int = 10_000


def even_limit(counts: Ints, total: int) -> int:
    """Return the largest n with Σ min(counts, n) ≤ total: an even share of the total for each.

    counts: (num_groups,). Where everything fits it is the largest count.
    """
    if not len(counts) or int(counts.sum()) <= total:
        return int(counts.max(initial=0))
    ascending = np.sort(counts)
    before = np.concatenate([[0], np.cumsum(ascending)[:-1]])
    room = (total - before) // np.arange(len(counts), 0, -1)  # for those not below, when all below are read whole
    return int(room[room < ascending][0])


def shared(counts: Ints, total: int) -> Ints:
    """Return what may be read of each group, (num_groups,): all alike; one of the first where that is too much."""
    limits = np.minimum(counts, even_limit(counts, total))
    if not limits.any():
        limits[np.flatnonzero(counts)[:total]] = 1
    return limits


def limited(nodes: Ints, counts: Ints, bounds: SubgraphBounds, room: int) -> tuple[Ints, Ints]:
    """Return what may be read of each group, (num_groups,), and what each bound leaves out of it, (num_groups, 3).

    A group is the triples of one relation and direction at one node, in the order in which they are served where there
    is not enough for one of each. nodes: (num_groups,) the node of each; counts: (num_groups,); room: triples that the
    question may still have.
    """
    by_relation = np.minimum(counts, bounds.fan_out)
    by_node = by_relation.copy()
    kinds, place = np.unique(nodes, return_inverse=True)
    totals = np.bincount(place, weights=by_relation, minlength=len(kinds))
    for kind in np.flatnonzero(totals > bounds.node_triples):
        groups = np.flatnonzero(place == kind)
        by_node[groups] = shared(by_relation[groups], bounds.node_triples)
    limits = shared(by_node, room)
    return limits, np.stack([counts - by_relation, by_relation - by_node, by_node - limits], axis=1)
