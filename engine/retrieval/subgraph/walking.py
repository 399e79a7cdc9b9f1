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
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from ....models.similarity import PathSimilarity, PathsOfTopic
from ....models.text import DirectedRelation, RelationWords
from ....models.text.vectors import TextVectors
from ....models.word_places import mask_topic, read_asked_words
from ...neo4j import Request
from ...neo4j.catalogue import look_up_relation_name
from ...neo4j.graph import (
    HUB_DEGREE,
    EntityReadLimits,
    NeighbourTriples,
    NodeTable,
    SignatureColumns,
    read_entity_signatures,
    read_hub_neighbours,
    read_neighbours,
)
from . import BOUNDS, Bools, EntityTable, Ints, SubgraphBatch

if TYPE_CHECKING:
    from ...context import Database
    from ...neo4j.gateway import Gateway

FloatArray = npt.NDArray[np.float32]

MAX_QUERIES_SPARED = 25
"""However many relations of a node are wanted, not more edges are looked at than in the time of so many queries."""


class EntityRegistry:
    """The entities that a batch has met, by number, with their signatures."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.names: list[str | None] = []
        self.is_literal: Bools = np.zeros(0, dtype=np.bool_)
        self.is_mediator: Bools = np.zeros(0, dtype=np.bool_)
        self._numbers: dict[str, int] = {}
        self._first: Ints = np.zeros(0, dtype=np.int64)
        self._after: Ints = np.zeros(0, dtype=np.int64)
        self._relations: Ints = np.zeros(0, dtype=np.int64)
        self._counts: Ints = np.zeros(0, dtype=np.int64)
        self._ranks: Ints = np.zeros(0, dtype=np.int64)

    def number(self, id_: str) -> int | None:
        return self._numbers.get(id_)

    def add(self, nodes: NodeTable) -> Ints:
        """Return the numbers of these nodes, (num_nodes,); those not met before get one."""
        known = len(self.ids)
        names: list[str | None] = []
        found = np.zeros(len(nodes.ids), dtype=np.int64)
        for place, (id_, name) in enumerate(zip(nodes.ids, nodes.names, strict=True)):
            number = self._numbers.setdefault(id_, known + len(names))
            found[place] = number
            if number == known + len(names):
                names.append(name)
                self.ids.append(id_)
        self.names += names
        literal = np.array([id_ in nodes.literals for id_ in self.ids[known:]], dtype=np.bool_)
        unnamed = np.array([not name for name in names], dtype=np.bool_)
        self.is_literal = np.concatenate([self.is_literal, literal])
        self.is_mediator = np.concatenate([self.is_mediator, unnamed & ~literal])
        self._add_signatures(found, nodes.signatures, len(names))
        return found

    def _add_signatures(self, found: Ints, signatures: SignatureColumns, num_new: int) -> None:
        self._first, self._after = (np.pad(ends, (0, num_new)) for ends in (self._first, self._after))
        numbers = found[signatures.of]
        self._first[numbers] = signatures.starts[:-1] + len(self._relations)
        self._after[numbers] = signatures.starts[1:] + len(self._relations)
        self._relations = np.concatenate([self._relations, signatures.relations])
        self._counts = np.concatenate([self._counts, signatures.counts])

    def groups(self, numbers: Ints) -> tuple[Ints, Ints, Ints]:
        """Return what the signatures of these entities say, (num_groups,) each: entity, signed relation, count."""
        at, of = expand_ranges(self._first[numbers], self._after[numbers])
        return numbers[of], self._relations[at], self._counts[at]

    def ranks(self) -> Ints:
        """Return the place of each entity in the order of ids, (num_entities,)."""
        if len(self._ranks) != len(self.ids):
            order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
            self._ranks = np.zeros(len(order), dtype=np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks

    def table(self) -> EntityTable:
        return EntityTable(tuple(self.ids), tuple(self.names), self.is_literal)


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What one question wants to read in one step: (num_groups,) each; a group is a relation and direction at a node.

    entities: numbers of entities. relations: signed catalogue numbers. limits: how many triples, none of them 0.
    whole: (num_groups,) whether all triples that the entity has are wanted.
    """

    entities: Ints
    relations: Ints
    limits: Ints
    whole: Bools


@dataclass(frozen=True, slots=True)
class StepTriples:
    """The triples that were read in one step, (num_rows,) each, sorted by source.

    sources, neighbours: numbers of entities. relations: signed. positions: place among those of the same source and
    relation, 0 where all triples of the source were read. wholes: sorted entities of which all were read.
    """

    sources: Ints
    relations: Ints
    neighbours: Ints
    positions: Ints
    wholes: Ints

    def of(self, plan: ReadPlan) -> tuple[Ints, Ints, Ints]:
        """Return source, signed relation and neighbour of the triples that a plan wants."""
        entities = np.unique(plan.entities)
        rows, _ = expand_ranges(*(np.searchsorted(self.sources, entities, side) for side in ("left", "right")))
        rows = rows[self._is_wanted(rows, plan)]
        return self.sources[rows], self.relations[rows], self.neighbours[rows]

    def _is_wanted(self, rows: Ints, plan: ReadPlan) -> Bools:
        if plan.whole.all():
            return np.ones(len(rows), dtype=np.bool_)
        kinds, offset = np.unique(np.concatenate([plan.relations, self.relations[rows]]), return_inverse=True)
        groups, wanted = np.split(offset, [len(plan.relations)])
        keys = plan.entities * len(kinds) + groups
        order = np.argsort(keys)
        at = self.sources[rows] * len(kinds) + wanted
        place = np.minimum(np.searchsorted(keys[order], at), len(keys) - 1)
        there = keys[order][place] == at
        wanted_here: Bools = there & (self.positions[rows] < plan.limits[order][place])
        return wanted_here


@dataclass(slots=True)
class StepReader:
    """Reads what the plans of a batch want in one step: one query, and one for each relation wanted at hubs.

    A hub has more edges than it is worth to look at for the relations wanted: `hub_degree` for each of them.

    `relations` maps catalogue numbers to names, `stored_as` names to relationship types where the two differ.
    """

    relations: Mapping[int, str]
    stored_as: Mapping[str, str]
    hub_degree: int = HUB_DEGREE
    entities: EntityRegistry = field(default_factory=EntityRegistry)

    def read(self, db: Database | Gateway, plans: Sequence[ReadPlan], *, last: bool) -> StepTriples:
        """Return the triples that any of the plans wants; the nodes they lead to are among `entities` from then on."""
        wholes, wanted = _unite_plans(plans)
        hubs = self._hubs(wanted)
        light = {entity: limits for entity, limits in wanted.items() if entity not in hubs}
        requests: list[Request[NeighbourTriples]] = []
        sources: list[Ints] = []
        if len(wholes) or light:
            requests.append(self._request(wholes, light, last=last))
            sources.append(np.concatenate([wholes, np.array(list(light), dtype=np.int64)]))
        by_relation: dict[int, list[int]] = {}
        for hub in sorted(hubs):
            for relation in wanted[hub]:
                by_relation.setdefault(relation, []).append(hub)
        for relation, there in by_relation.items():
            name = self._name(relation)
            limit = max(wanted[hub][relation] for hub in there)
            ids = [self.entities.ids[hub] for hub in there]
            type_ = self.stored_as.get(name)
            requests.append(read_hub_neighbours(ids, name, relation, limit, stored_as=type_, last=last))
            sources.append(np.array(there, dtype=np.int64))
        return self._join_answers(db.run_all(requests), sources, wholes)

    def _request(
        self, wholes: Ints, parts: Mapping[int, Mapping[int, int]], *, last: bool
    ) -> Request[NeighbourTriples]:
        _, relations, _ = self.entities.groups(wholes)
        numbers = {abs(int(n)) for n in np.unique(relations)} | {abs(n) for part in parts.values() for n in part}
        return read_neighbours(
            [self.entities.ids[entity] for entity in wholes],
            [
                EntityReadLimits(
                    self.entities.ids[entity],
                    {self._name(n): limit for n, limit in limits.items() if n > 0},
                    {self._name(n): limit for n, limit in limits.items() if n < 0},
                )
                for entity, limits in parts.items()
            ],
            {self._name(number): number for number in numbers},
            last=last,
        )

    def _join_answers(self, answers: Sequence[NeighbourTriples], sources: Sequence[Ints], wholes: Ints) -> StepTriples:
        none = np.zeros(0, dtype=np.int64)
        numbers = [self.entities.add(answer.nodes) for answer in answers]
        source = np.concatenate([none, *(s[a.sources] for s, a in zip(sources, answers, strict=True))])
        relation = np.concatenate([none, *(a.relations for a in answers)])
        neighbour = np.concatenate([none, *(n[a.neighbours] for n, a in zip(numbers, answers, strict=True))])
        position = np.concatenate([none, *(a.positions for a in answers)])
        order = np.argsort(source)
        return StepTriples(source[order], relation[order], neighbour[order], position[order], wholes)

    def _hubs(self, wanted: Mapping[int, Mapping[int, int]]) -> set[int]:
        """Return those of the entities that have too many edges to be looked at for the relations wanted."""
        entities = np.array(list(wanted), dtype=np.int64)
        owners, _, counts = self.entities.groups(entities)
        degrees = np.bincount(owners, weights=counts)
        return {
            entity
            for entity, limits in wanted.items()
            if degrees[entity] >= self.hub_degree * min(len(limits), MAX_QUERIES_SPARED)
        }

    def _name(self, number: int) -> str:
        return look_up_relation_name(abs(number), self.relations)


def _unite_plans(plans: Sequence[ReadPlan]) -> tuple[Ints, dict[int, dict[int, int]]]:
    """Return the entities that every plan wants whole, sorted, and of the others how many triples of each relation."""
    entities = np.concatenate([np.zeros(0, dtype=np.int64), *(plan.entities for plan in plans)])
    whole = np.concatenate([np.zeros(0, dtype=np.bool_), *(plan.whole for plan in plans)])
    in_part = np.unique(entities[~whole])
    wanted: dict[int, dict[int, int]] = {int(entity): {} for entity in in_part}
    for plan in plans:
        rows = np.flatnonzero(np.isin(plan.entities, in_part))
        for entity, relation, limit in zip(
            plan.entities[rows].tolist(), plan.relations[rows].tolist(), plan.limits[rows].tolist(), strict=True
        ):
            limits = wanted[entity]
            limits[relation] = max(limit, limits.get(relation, limit))
    return np.setdiff1d(entities[whole], in_part), wanted


@dataclass(frozen=True, slots=True)
class RelationQuery:
    """The relations that leave or enter the nodes a question has reached.

    topics: names of the question's topics. relations: (num_candidates,) signed catalogue numbers, negative where a
    relation would be walked from tail to head; each once.
    """

    question: str
    topics: tuple[str, ...]
    relations: Ints


class RelationProposer(Protocol):
    """Scores the relations that may be walked next, for a batch of questions at once."""

    def score(self, queries: Sequence[RelationQuery]) -> list[FloatArray]:
        """Return a score for each candidate of each query, (num_candidates,) each; higher is better. Deterministic."""
        ...


def best_relations(relations: Ints, scores: FloatArray, num_relations: int) -> Ints:
    """Return the at most `num_relations` best, best first; equal scores by number, leaving before entering."""
    order = np.lexsort((-relations, np.abs(relations), -scores))
    return relations[order[:num_relations]]


class SimilarityProposer:
    """A `RelationProposer` by sentence similarity, without training.

    A relation's score is S of `models/similarity.py` for the path that consists of it alone; `words` has the words of
    every catalogue number. What was encoded once is kept.
    """

    def __init__(self, words: Mapping[int, RelationWords], vectors: TextVectors) -> None:
        self.words = words
        self._similarity = PathSimilarity(vectors)

    def score(self, queries: Sequence[RelationQuery]) -> list[FloatArray]:
        """Return S of each candidate, as of a path of one hop; the texts of all queries are encoded together."""
        paths = [
            PathsOfTopic(
                _masked(query),
                [((DirectedRelation(self.words[abs(n)], n < 0),),) for n in query.relations.tolist()],
                [0.0] * len(query.relations),
                read_asked_words(query.question, query.topics[0]) if query.topics else None,
            )
            for query in queries
        ]
        found = self._similarity.score_composed([[each] for each in paths if each.hops])
        scores = (score for ((score, _),) in found)
        return [next(scores) if each.hops else np.zeros(0, dtype=np.float32) for each in paths]


def _masked(query: RelationQuery) -> str:
    text = query.question
    for topic in query.topics:
        text = mask_topic(text, topic)
    return text


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
    """A question whose subgraph is wanted: ids of its topic entities, and how far and how wide it may reach."""

    question: str
    topics: tuple[str, ...]
    num_hops: int = 2
    bounds: SubgraphBounds = field(default_factory=SubgraphBounds)


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

    def extract(self, db: Database | Gateway, queries: Sequence[SubgraphQuery]) -> SubgraphBatch:
        """Return the subgraphs of the questions, in order.

        Raises `StaleCatalogueError` when the graph has a relation whose number is not in `relations`.
        """
        reader = StepReader(self.relations, self.stored_as, self.hub_degree)
        ids = list(dict.fromkeys(id_ for query in queries for id_ in query.topics))
        if ids:
            reader.entities.add(db.run(read_entity_signatures(ids)))
        growing = [_Growing(query, reader.entities) for query in queries]
        num_hops = max((query.num_hops for query in queries), default=0)
        for hop in range(1, num_hops + 1):
            for out_of_mediators in (False, True):
                fronts = [g.front(hop, out_of_mediators=out_of_mediators) for g in growing]
                plans = self._plans(growing, fronts, hop)
                if any(len(plan.entities) for plan in plans):
                    last = hop == num_hops
                    reading = reader.read(db, plans, last=last)
                    for g, plan in zip(growing, plans, strict=True):
                        g.add(reading, plan, hop)
        table = reader.entities.table()
        return SubgraphBatch.of(table, [g.subgraph(table) for g in growing])

    def _plans(self, growing: Sequence[_Growing], fronts: Sequence[Ints], hop: int) -> list[ReadPlan]:
        groups = [g.entities.groups(front) for g, front in zip(growing, fronts, strict=True)]
        candidates = [np.unique(relations) for _, relations, _ in groups]
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

    def subgraph(self, table: EntityTable) -> SubgraphBatch:
        """Return what has grown, in its order: nodes by hops and id, triples by head, relation and tail."""
        order = np.lexsort((self.entities.ranks()[self.nodes], self.hops))
        index = np.zeros(len(order), dtype=np.int64)
        index[order] = np.arange(len(order))
        heads, relations, tails = self.triples
        triples = np.stack(
            [index[np.searchsorted(self.nodes, heads)], relations, index[np.searchsorted(self.nodes, tails)]]
        )
        heads, relations, tails = self._distinct(triples, np.arange(len(order)))
        return SubgraphBatch(
            table,
            heads,
            relations,
            tails,
            entities=self.nodes[order],
            is_topic=self.hops[order] == 0,
            hops=self.hops[order],
            left_out=self.left_out[order],
            node_starts=np.array([0, len(order)]),
            triple_starts=np.array([0, len(heads)]),
            unknown_topics=(self.unknown_topics,),
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


def expand_ranges(first: Ints, after: Ints) -> tuple[Ints, Ints]:
    """Return the rows of several ranges end to end, and the range that each is in."""
    sizes = after - first
    of = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[of], of
