"""Read question subgraphs by walking out from the topics, hop by hop, for a batch of questions at once.

A hop is at most two steps, since a step into an unnamed mediator and the step out of it are one hop: the first is taken
from the nodes that the hop before reached, the second from the mediators that the first has newly reached. (A mediator
that is reached from a mediator is walked on from in the next hop.) A step takes all relations of a node or the best
that a scorer proposes, in both directions. Relation signatures have the number of triples of each relation at each
node: what the bounds allow, and what they leave out, is known before a triple is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...neo4j.graph import HUB_DEGREE
from ...neo4j.neighbours import read_entity_signatures
from ...steps import Steps, send_one
from .batch import BOUNDS, Bools, EntityTable, Subgraph, SubgraphBatch
from .proposing import RelationProposer, RelationQuery, best_relations
from .step_reader import EntityRegistry, ReadPlan, StepReader, StepTriples

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SubgraphBounds:
    """What a question's subgraph may hold. All are our own choices; what a bound leaves out is reported.

    fan_out: triples of a node, relation and direction. node_triples: triples read at a node. question_triples: triples
    in all, 1 / 2^(hops − 1) of them before the last hop, which reaches the answers of a long question; a triple that is
    read from both its ends in one step counts twice.
    """

    fan_out: int = 500
    node_triples: int = 2_000
    question_triples: int = 10_000


def compute_even_limit(counts: Ints, total: int) -> int:
    """Return the largest n with Σ min(counts, n) ≤ total: an even share of the total for each.

    counts: (num_groups,). Where everything fits it is the largest count.
    """
    if not len(counts) or int(counts.sum()) <= total:
        return int(counts.max(initial=0))
    ascending = np.sort(counts)
    before = np.concatenate([[0], np.cumsum(ascending)[:-1]])
    room = (total - before) // np.arange(len(counts), 0, -1)  # for those not below, when all below are read whole
    return int(room[room < ascending][0])


def share_reads(counts: Ints, total: int) -> Ints:
    """Return what may be read of each group, (num_groups,): all alike; one of the first where that is too much."""
    limits = np.minimum(counts, compute_even_limit(counts, total))
    if not limits.any():
        limits[np.flatnonzero(counts)[:total]] = 1
    return limits


def limit_reads(nodes: Ints, counts: Ints, bounds: SubgraphBounds, room: int) -> tuple[Ints, Ints]:
    """Return what may be read of each group, (num_groups,), and what each bound leaves out of it, (num_groups, 3).

    A group is the triples of one relation and direction at one node, the most wanted relation first. Where a question
    has too many triples, half of the room is shared alike and the other half goes to the groups in their order. nodes:
    (num_groups,) the node of each; counts: (num_groups,); room: triples that the question may still have.
    """
    by_relation = np.minimum(counts, bounds.fan_out)
    by_node = by_relation.copy()
    _, place = np.unique(nodes, return_inverse=True)
    totals = np.bincount(place, weights=by_relation)
    for kind in np.flatnonzero(totals > bounds.node_triples):
        groups = np.flatnonzero(place == kind)
        by_node[groups] = share_reads(by_relation[groups], bounds.node_triples)
    alike = share_reads(by_node, (room + 1) // 2)
    left = by_node - alike
    limits = alike + np.clip(room - alike.sum() - (np.cumsum(left) - left), 0, left)
    return limits, np.stack([counts - by_relation, by_relation - by_node, by_node - limits], axis=1)


@dataclass(frozen=True, slots=True)
class SubgraphQuery:
    """A question whose subgraph is wanted: ids of its topic entities, and how far and how wide it may reach.

    It has no triple of the `excluded_relations`.
    """

    question: str
    topics: tuple[str, ...]
    num_hops: int = 2
    bounds: SubgraphBounds = field(default_factory=SubgraphBounds)
    excluded_relations: frozenset[str] = frozenset()


class SubgraphExtractor:
    """Extracts question subgraphs from the graph.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ. With a
    `proposer`, the `num_relations` best relations of a question are walked in each step, else all.
    What a bound leaves out: of each relation and direction at a node, triples beyond the first in the order in which
    the store keeps them. Where a node has too many, each relation at it gets the same share; where a question has, of
    half of what it may have, and the other half goes to relations in the order of the proposer, else by number, and to
    the nodes of one relation by id, as it does where there is not enough for one triple each.
    Round trips for a batch: its hops + 1, one more for each hop that ends at mediators; and, sent at the same time, a
    query for each relation wanted at hubs.
    """

    def __init__(
        self,
        relations: Mapping[int, str],
        *,
        proposer: RelationProposer | None = None,
        num_relations: int = 20,
        stored_as: Mapping[str, str] | None = None,
        hub_degree: int = HUB_DEGREE,
    ) -> None:
        self.relations = relations
        self.proposer = proposer
        self.num_relations = num_relations
        self.stored_as = stored_as or {}
        self.hub_degree = hub_degree

    def extract(self, queries: Sequence[SubgraphQuery]) -> Steps[SubgraphBatch]:
        """Return the subgraphs of the questions, in order.

        Raises `StaleCatalogueError` when the graph has a relation whose number is not in `relations`.
        """
        reader = StepReader(self.relations, self.stored_as, self.hub_degree)
        ids = list(dict.fromkeys(id_ for query in queries for id_ in query.topics))
        if ids:
            reader.entities.add((yield from send_one(read_entity_signatures(ids))))
        growing = [_Growing(query, reader.entities) for query in queries]
        num_hops = max((query.num_hops for query in queries), default=0)
        for hop in range(1, num_hops + 1):
            for out_of_mediators in (False, True):
                fronts = [g.front(hop, out_of_mediators=out_of_mediators) for g in growing]
                plans = self._plans(growing, fronts, hop)
                if any(len(plan.entities) for plan in plans):
                    last = hop == num_hops
                    reading = yield from reader.read(plans, last=last)
                    for g, plan in zip(growing, plans, strict=True):
                        g.add(reading, plan, hop)
        table = reader.entities.table()
        return SubgraphBatch.of(table, [g.subgraph(table) for g in growing])

    def _plans(self, growing: Sequence[_Growing], fronts: Sequence[Ints], hop: int) -> list[ReadPlan]:
        groups = [g.entities.groups(front) for g, front in zip(growing, fronts, strict=True)]
        candidates = [
            self._allowed(np.unique(relations), g.query.excluded_relations)
            for g, (_, relations, _) in zip(growing, groups, strict=True)
        ]
        if self.proposer is None:
            chosen = [relations[np.lexsort((-relations, np.abs(relations)))] for relations in candidates]
        else:
            asked = [
                RelationQuery(g.query.question, g.topic_names, relations)
                for g, relations in zip(growing, candidates, strict=True)
            ]
            chosen = [
                best_relations(query.relations, scores, self.num_relations)
                for query, scores in zip(asked, self.proposer.score(asked), strict=True)
            ]
        return [g.plan(*group, relations, hop) for g, group, relations in zip(growing, groups, chosen, strict=True)]

    def _allowed(self, relations: Ints, without: frozenset[str]) -> Ints:
        if not without:
            return relations
        return relations[[self.relations.get(abs(number)) not in without for number in relations.tolist()]]


class _Growing:
    """The subgraph of one question while it grows; nodes are numbers of entities."""

    def __init__(self, query: SubgraphQuery, entities: EntityRegistry) -> None:
        self.query = query
        self.entities = entities
        found = {id_: entities.number(id_) for id_ in dict.fromkeys(query.topics)}
        self.unknown_topics = tuple(id_ for id_, number in found.items() if number is None)
        self.nodes = np.array(sorted(n for n in found.values() if n is not None), dtype=np.int64)
        """Sorted; `hops`, `is_walked` and `left_out` stand beside it."""
        self.hops = np.zeros(len(self.nodes), dtype=np.int64)
        self.is_walked: Bools = np.zeros(len(self.nodes), dtype=np.bool_)
        self.left_out = np.zeros((len(self.nodes), len(BOUNDS)), dtype=np.int64)
        self.triples = np.zeros((3, 0), dtype=np.int64)
        """Heads, relations and tails, without repeats."""

    @property
    def topic_names(self) -> tuple[str, ...]:
        """The names of the topics, in order."""
        numbers = [self.entities.number(id_) for id_ in dict.fromkeys(self.query.topics)]
        names = [self.entities.names[number] for number in numbers if number is not None]
        return tuple(name for name in names if name)

    def front(self, hop: int, *, out_of_mediators: bool) -> Ints:
        """Return the nodes that are walked on from in this step, and count them as walked."""
        if hop > self.query.num_hops:
            return self.nodes[:0]
        reached = ~self.is_walked & ~self.entities.is_literal[self.nodes]
        if out_of_mediators:
            reached &= self.entities.is_mediator[self.nodes]
        self.is_walked |= reached
        return self.nodes[reached]

    def plan(self, nodes: Ints, relations: Ints, counts: Ints, chosen: Ints, hop: int) -> ReadPlan:
        """Return what is read of the groups of a front: of the `chosen` relations, best first, within the bounds."""
        order = np.argsort(chosen)
        at = np.searchsorted(chosen[order], relations)
        there = np.isin(relations, chosen)
        place = order[at[there]]
        node, relation, count = nodes[there], relations[there], counts[there]
        served = np.lexsort((self.entities.ranks()[node], place))
        node, relation, count = node[served], relation[served], count[served]
        later = self.query.num_hops - 1 if hop < self.query.num_hops else 0
        room = (self.query.bounds.question_triples >> later) - self.triples.shape[1]
        limits, left_out = limit_reads(node, count, self.query.bounds, room)
        np.add.at(self.left_out, np.searchsorted(self.nodes, node), left_out)
        unread = np.zeros(len(self.nodes), dtype=np.int64)
        np.add.at(unread, np.searchsorted(self.nodes, nodes), counts)
        np.subtract.at(unread, np.searchsorted(self.nodes, node), limits)
        read = limits > 0
        whole = unread[np.searchsorted(self.nodes, node[read])] == 0
        return ReadPlan(node[read], relation[read], limits[read], whole)

    def add(self, reading: StepTriples, plan: ReadPlan, hop: int) -> None:
        """Take in the triples that were read for a plan."""
        sources, relations, neighbours = reading.of(plan)
        entering = relations < 0
        new = np.stack(
            [np.where(entering, neighbours, sources), np.abs(relations), np.where(entering, sources, neighbours)]
        )
        reached = np.setdiff1d(neighbours, self.nodes)
        order = np.argsort(np.concatenate([self.nodes, reached]))
        self.nodes = np.concatenate([self.nodes, reached])[order]
        self.hops = np.concatenate([self.hops, np.full(len(reached), hop)])[order]
        self.is_walked = np.pad(self.is_walked, (0, len(reached)))[order]
        self.left_out = np.pad(self.left_out, ((0, len(reached)), (0, 0)))[order]
        self.triples = self._distinct(np.concatenate([self.triples, new], axis=1), self.nodes)

    def subgraph(self, table: EntityTable) -> Subgraph:
        """Return what has grown, in its order: nodes by hops and id, triples by head, relation and tail."""
        order = np.lexsort((self.entities.ranks()[self.nodes], self.hops))
        index = np.zeros(len(order), dtype=np.int64)
        index[order] = np.arange(len(order))
        heads, relations, tails = self.triples
        triples = np.stack(
            [index[np.searchsorted(self.nodes, heads)], relations, index[np.searchsorted(self.nodes, tails)]]
        )
        heads, relations, tails = self._distinct(triples, np.arange(len(order)))
        return Subgraph(
            table,
            heads,
            relations,
            tails,
            entities=self.nodes[order],
            is_topic=self.hops[order] == 0,
            hops=self.hops[order],
            left_out=self.left_out[order],
            unknown_topics=self.unknown_topics,
        )

    @staticmethod
    def _distinct(triples: Ints, nodes: Ints) -> Ints:
        """Return the different triples, (3, num_triples), sorted; `nodes` are all their heads and tails, sorted.

        Each is packed into one integer for it, which a question's nodes and relations are too few to overflow.
        """
        kinds, relation = np.unique(triples[1], return_inverse=True)
        head, tail = (np.searchsorted(nodes, ends) for ends in (triples[0], triples[2]))
        rest, tail = np.divmod(np.unique((head * len(kinds) + relation) * len(nodes) + tail), max(len(nodes), 1))
        head, relation = np.divmod(rest, max(len(kinds), 1))
        return np.stack([nodes[head], kinds[relation], nodes[tail]])
